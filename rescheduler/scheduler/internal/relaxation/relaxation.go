// Package relaxation decides when a pod may go back to a node that it failed on, and remembers which pods may. It is pure.
package relaxation

// Fit says what stands between a pod and a node, its own exclusions apart.
type Fit int

// The pod does not fit whatever is preempted; it might if other pods made room; it does.
const (
	Never Fit = iota
	ByPreemption
	Now
)

// Question is one failed attempt to schedule a pod.
type Question struct {
	// Excluded are the nodes of the cluster that the pod is kept away from, by name.
	Excluded []Candidate
	// OthersByPreemption: some node that is not excluded might do if other pods made room there.
	OthersByPreemption bool
}

// Candidate is a node that the pod failed on before.
type Candidate struct {
	Node string
	Fit  Fit
}

// Reason says why. It is a label of metrics.
type Reason string

// What an answer rests on.
const (
	// NothingElseFits: the pod fits on a node it is kept away from, and on no other. Going back there costs nobody anything; it comes before
	// preemption, because others would lose their place only for the sake of a memory.
	NothingElseFits Reason = "NothingElseFits"
	// NothingElseCanFit: not even preemption would make room, save on a node that the pod is kept away from.
	NothingElseCanFit Reason = "NothingElseCanFit"
	// NotTheCause: without its exclusions the pod would fit no better.
	NotTheCause Reason = "NotTheCause"
)

// Answer is whether the exclusions of the pod are dropped, why, and the node that decided it.
type Answer struct {
	Relax  bool
	Reason Reason
	Node   string
}

// Decide follows the seed's second note: exclusions that keep a pod from being scheduled are dropped, and no others.
func Decide(q Question) Answer {
	if node, found := first(q.Excluded, Now); found {
		return Answer{Relax: true, Reason: NothingElseFits, Node: node}
	}
	if node, found := first(q.Excluded, ByPreemption); found && !q.OthersByPreemption {
		return Answer{Relax: true, Reason: NothingElseCanFit, Node: node}
	}
	return Answer{Reason: NotTheCause}
}

func first(candidates []Candidate, fit Fit) (node string, found bool) {
	for _, c := range candidates {
		if c.Fit == fit {
			return c.Node, true
		}
	}
	return "", false
}

// Package relaxation decides when a pod may return to a node that it failed on. It is pure.
package relaxation

// Fit is how well a pod fits a node, apart from its exclusions.
type Fit int

// Never means that preemption would not help, ByPreemption that it might, and Now that the pod fits.
const (
	Never Fit = iota
	ByPreemption
	Now
)

// Question describes a pod that fits on no node.
type Question struct {
	// Excluded are the existing nodes that the pod must avoid, by name.
	Excluded []Candidate
	// OthersByPreemption reports whether preemption might make room on a node that is not excluded.
	OthersByPreemption bool
}

// Candidate is an excluded node.
type Candidate struct {
	Node string
	Fit  Fit
}

// Reason is why the exclusions are dropped or kept. It is a metric label.
type Reason string

// Reasons.
const (
	// NothingElseFits means that the pod fits only on an excluded node. Returning there costs nothing, so it comes before preemption, which
	// would cost other pods their place.
	NothingElseFits Reason = "NothingElseFits"
	// NothingElseCanFit means that preemption could make room only on an excluded node.
	NothingElseCanFit Reason = "NothingElseCanFit"
	// NotTheCause means that the pod would not fit without its exclusions either.
	NotTheCause Reason = "NotTheCause"
)

// Answer is whether to drop the exclusions, why, and the node on which the decision rests.
type Answer struct {
	Relax  bool
	Reason Reason
	Node   string
}

// Decide drops the exclusions if only they keep the pod from being scheduled (second note of seed 004).
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

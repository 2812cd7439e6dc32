// Package relaxation decides when a pod may go back to a node that it failed on, and remembers which pods may. It is pure.
package relaxation

import (
	"container/list"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

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

// Memory knows the pods whose exclusions were dropped, until their annotation is gone. An annotation that says something else than it did
// then counts again. It may be used by several goroutines, holds a bounded number of pods and forgets each after a while: what is forgotten
// costs one more failed attempt.
type Memory struct {
	limit int
	keep  time.Duration

	mu   sync.Mutex
	pods map[types.UID]*list.Element
	ages *list.List // of records, oldest first
}

type record struct {
	pod   types.UID
	value string
	at    time.Time
}

// NewMemory holds at most limit pods, each for the duration.
func NewMemory(limit int, keep time.Duration) *Memory {
	return &Memory{limit: limit, keep: keep, pods: map[types.UID]*list.Element{}, ages: list.New()}
}

// Remember that the pod's annotation, as it reads now, does not count any more.
func (m *Memory) Remember(pod types.UID, value string, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, found := m.pods[pod]; found {
		m.drop(known)
	}
	for oldest := m.ages.Front(); oldest != nil && (m.ages.Len() >= m.limit || m.old(oldest, now)); oldest = m.ages.Front() {
		m.drop(oldest)
	}
	m.pods[pod] = m.ages.PushBack(record{pod: pod, value: value, at: now})
}

// Relaxed: this very annotation of the pod does not count.
func (m *Memory) Relaxed(pod types.UID, value string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, found := m.pods[pod]
	return found && known.Value.(record).value == value && !m.old(known, now)
}

func (m *Memory) old(e *list.Element, now time.Time) bool {
	return now.Sub(e.Value.(record).at) >= m.keep
}

func (m *Memory) drop(e *list.Element) {
	delete(m.pods, e.Value.(record).pod)
	m.ages.Remove(e)
}

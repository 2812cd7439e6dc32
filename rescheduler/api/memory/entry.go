package memory

import (
	"cmp"
	"slices"
	"time"
)

// Limits of a Memory.
const (
	MaxEntries = 64
	maxPods    = 8  // maximum number of pods in an entry
	maxText    = 80 // maximum length of a reason in bytes
	// maxDoubling limits how often the TTL of a node is doubled when the workload keeps failing there.
	maxDoubling = 4
	// sameWave is how long after the last failure a new pod still belongs to the same wave of failures. Such a pod was already being
	// scheduled to the node when the failure was recorded.
	sameWave = 10 * time.Second
)

// Entry records that pods of the workload have failed on a node.
type Entry struct {
	Node    string `json:"node"`
	NodeUID string `json:"nodeUID,omitempty"` // distinguishes a recreated node from an earlier one with the same name
	Class   string `json:"class"`             // row of the signal catalogue
	Reason  string `json:"reason,omitempty"`  // as reported by the pod
	// Slot is the identity of the pod (ordinal name, completion index) if the failure affects only this pod. If it is empty, the failure
	// affects all pods.
	Slot    string    `json:"slot,omitempty"`
	Count   int       `json:"count"` // number of failures, counting each wave once
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
	Expires time.Time `json:"expires"`
	Pods    []string  `json:"pods,omitempty"` // UIDs of the pods that caused the counted failures, the latest last
}

// Live reports whether the node is still excluded at `now`.
func (e Entry) Live(now time.Time) bool { return now.Before(e.Expires) }

// Failure is the failure of one pod on a node.
type Failure struct {
	Node, NodeUID, Class, Reason, Slot string
	Pod                                string        // UID
	Created                            time.Time     // when the pod was created
	At                                 time.Time     // when it failed
	TTL                                time.Duration // how long the node is excluded after the first failure
}

// Lesson is how a failure changes a Memory.
type Lesson int

const (
	Stale   Lesson = iota // the failure is too old to exclude the node
	Known                 // the failure is already recorded
	Covered               // the pod was created before the node was excluded, or shortly after; not counted
	New                   // the node was not excluded, or a later pod failed on it again; counted as one move
)

// Learn returns m with the failure added. It does not modify m. Each time the workload fails on the node again, the node is excluded twice
// as long as before, up to 16 times the TTL.
func (m Memory) Learn(f Failure, now time.Time) (Memory, Lesson) {
	i := slices.IndexFunc(m.Entries, func(e Entry) bool { return e.is(f) })
	if i < 0 {
		if !now.Before(f.At.Add(f.TTL)) {
			return m, Stale
		}
		lesson := m.lesson(f)
		first := Entry{Node: f.Node, NodeUID: f.NodeUID, Class: f.Class, Slot: f.Slot, First: f.At.UTC().Truncate(time.Second)}
		m.Entries = append(slices.Clip(m.Entries), first.again(f))
		return m.bounded(), lesson
	}
	old := m.Entries[i]
	switch again := old.again(f); {
	case slices.Contains(old.Pods, f.Pod):
		return m, Known
	case old.covers(f):
		return m, Covered
	case !again.Live(now):
		return m, Stale
	default:
		return m.replaced(i, again), New
	}
}

// Renew excludes the node for another full period if the entry of a known failure has expired. This happens if the pod's move was delayed
// for that long. Without the exclusion, the replacement could return to the node. No further move is counted.
func (m Memory) Renew(f Failure, now time.Time) (Memory, Lesson) {
	i := slices.IndexFunc(m.Entries, func(e Entry) bool { return e.is(f) })
	if i < 0 || m.Entries[i].Live(now) {
		return m, Known
	}
	e := m.Entries[i]
	e.Expires = now.UTC().Truncate(time.Second).Add(f.TTL) // Last does not change, because there was no new failure
	return m.replaced(i, e), Covered
}

// is reports whether the entry records failures of this kind on this node.
func (e Entry) is(f Failure) bool {
	return e.Node == f.Node && e.NodeUID == f.NodeUID && e.Class == f.Class && e.Slot == f.Slot
}

// covers reports whether the node was excluded when the pod failed, and the pod was created before the exclusion or shortly after.
func (e Entry) covers(f Failure) bool {
	return f.Created.Before(e.Last.Add(sameWave)) && e.Live(f.At)
}

// lesson returns the effect of a failure that has no entry yet. A failure of another class on a node that is already excluded does not
// count as another move.
func (m Memory) lesson(f Failure) Lesson {
	for _, e := range m.Entries {
		same := e.Node == f.Node && e.NodeUID == f.NodeUID && (e.Slot == "" || e.Slot == f.Slot)
		if same && e.covers(f) {
			return Covered
		}
	}
	return New
}

// again returns the entry with one more failure.
func (e Entry) again(f Failure) Entry {
	e.Pods = append(slices.Clone(e.Pods), f.Pod)
	e.Pods = e.Pods[max(0, len(e.Pods)-maxPods):]
	e.Reason = f.Reason[:min(len(f.Reason), maxText)]
	e.Last = f.At.UTC().Truncate(time.Second)
	e.Expires = e.Last.Add(f.TTL << min(e.Count, maxDoubling))
	e.Count++
	return e
}

func (m Memory) replaced(i int, e Entry) Memory {
	m.Entries = slices.Clone(m.Entries)
	m.Entries[i] = e
	return m
}

// bounded sorts the entries. If there are too many, it drops those that expire first.
func (m Memory) bounded() Memory {
	m.Entries = slices.Clone(m.Entries)
	if excess := len(m.Entries) - MaxEntries; excess > 0 {
		slices.SortStableFunc(m.Entries, func(a, b Entry) int { return a.Expires.Compare(b.Expires) })
		m.Entries = m.Entries[excess:]
	}
	slices.SortStableFunc(m.Entries, func(a, b Entry) int {
		return cmp.Or(a.First.Compare(b.First), cmp.Compare(a.Node, b.Node))
	})
	return m
}

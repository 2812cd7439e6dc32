package memory

import (
	"cmp"
	"slices"
	"time"
)

// Bounds of a Memory.
const (
	MaxEntries = 64
	maxPods    = 8  // pods that an entry remembers
	maxText    = 80 // bytes of a reason
	// maxDoubling bounds how much longer a node is avoided that fails again and again: 2^maxDoubling times its first period.
	maxDoubling = 4
	// sameWave is for pods that were on their way to the node while its failure was written down.
	sameWave = 10 * time.Second
)

// Entry says that pods of the workload have failed on a node.
type Entry struct {
	Node    string `json:"node"`
	NodeUID string `json:"nodeUID,omitempty"` // a node of the same name with another UID is another node
	Class   string `json:"class"`             // row of the catalogue of signals
	Reason  string `json:"reason,omitempty"`  // as the pod said it
	// Slot is the pod's identity (ordinal name, completion index) if the failure says something about this pod only. Empty: about all.
	Slot    string    `json:"slot,omitempty"`
	Count   int       `json:"count"` // failures beyond the wave of the first
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
	Expires time.Time `json:"expires"`
	Pods    []string  `json:"pods,omitempty"` // UIDs of those that were charged, the latest last
}

// Live reports whether the entry keeps anybody away at `now`.
func (e Entry) Live(now time.Time) bool { return now.Before(e.Expires) }

// Failure is one pod that failed on a node.
type Failure struct {
	Node, NodeUID, Class, Reason, Slot string
	Pod                                string        // UID
	Created                            time.Time     // when the pod was created
	At                                 time.Time     // when it failed
	TTL                                time.Duration // how long the node is avoided the first time
}

// Lesson is what a failure adds to a Memory.
type Lesson int

const (
	Stale   Lesson = iota // the failure is too old to exclude the node
	Known                 // this pod's failure is in the memory
	Covered               // the node was excluded when or shortly after the pod was created: nothing to charge
	New                   // the node was not excluded, or it failed once more: one move
)

// Learn adds a failure. m stays as it is. A node that fails again is avoided twice as long, up to sixteen times.
func (m Memory) Learn(f Failure, now time.Time) (Memory, Lesson) {
	i := slices.IndexFunc(m.Entries, func(e Entry) bool { return e.is(f) })
	switch {
	case i >= 0 && slices.Contains(m.Entries[i].Pods, f.Pod):
		return m, Known
	case i < 0 && !now.Before(f.At.Add(f.TTL)):
		return m, Stale
	case i < 0:
		return m.with(newEntry(f)), m.lesson(f)
	}
	old := m.Entries[i]
	if old.covers(f) {
		return m, Covered
	}
	again := old.again(f)
	if !again.Live(now) {
		return m, Stale
	}
	return m.replaced(i, again), New
}

// Renew avoids the node for a whole period again if the time of a failure that is Known is over: its pod was held up for so long, and
// would be moved with nothing to keep its replacement away. Nothing more is charged for it.
func (m Memory) Renew(f Failure, now time.Time) (Memory, Lesson) {
	i := slices.IndexFunc(m.Entries, func(e Entry) bool { return e.is(f) })
	if i < 0 || f.TTL <= 0 || m.Entries[i].Live(now) {
		return m, Known
	}
	e := m.Entries[i]
	e.Expires = now.UTC().Truncate(time.Second).Add(f.TTL) // Last stays, because there was no new failure
	return m.replaced(i, e), Covered
}

// is the entry that a failure belongs to.
func (e Entry) is(f Failure) bool {
	return e.Node == f.Node && e.NodeUID == f.NodeUID && e.Class == f.Class && e.Slot == f.Slot
}

// covers: the node was avoided when the pod failed, and the pod was on its way there before that or just then.
func (e Entry) covers(f Failure) bool {
	return f.Created.Before(e.Last.Add(sameWave)) && e.Live(f.At)
}

// lesson of a failure that has no entry: another class on a node that is excluded already is no second move.
func (m Memory) lesson(f Failure) Lesson {
	for _, e := range m.Entries {
		same := e.Node == f.Node && e.NodeUID == f.NodeUID && (e.Slot == "" || e.Slot == f.Slot)
		if same && e.covers(f) {
			return Covered
		}
	}
	return New
}

func newEntry(f Failure) Entry {
	at := f.At.UTC().Truncate(time.Second)
	return Entry{
		Node: f.Node, NodeUID: f.NodeUID, Class: f.Class, Reason: f.Reason[:min(len(f.Reason), maxText)], Slot: f.Slot,
		Count: 1, First: at, Last: at, Expires: at.Add(f.TTL), Pods: []string{f.Pod},
	}
}

func (e Entry) again(f Failure) Entry {
	e.Pods = append(slices.Clone(e.Pods), f.Pod)
	e.Pods = e.Pods[max(0, len(e.Pods)-maxPods):]
	e.Reason = f.Reason[:min(len(f.Reason), maxText)]
	e.Last = f.At.UTC().Truncate(time.Second)
	e.Expires = e.Last.Add(f.TTL << min(e.Count, maxDoubling))
	e.Count++
	return e
}

func (m Memory) with(e Entry) Memory {
	m.Entries = append(slices.Clip(m.Entries), e)
	return m.bounded()
}

func (m Memory) replaced(i int, e Entry) Memory {
	m.Entries = slices.Clone(m.Entries)
	m.Entries[i] = e
	return m
}

// bounded drops the entries that end first, and puts the rest in order.
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

package worker

import (
	"log/slog"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Config is an agent's configuration.
type Config struct {
	Slot       rounds.Slot // slot for which the pod was created, or the spare's name
	Generation int64       // generation of the group when the pod was created; 0 if unknown
	Node       string
	PodName    string
	Grace      time.Duration // between the signal and the kill
	// RemoveStopped removes the record of every container that was ordered to stop, not only of those that exited with code 0. The
	// kubelet's back-off depends on these records.
	RemoveStopped bool
	// Waits means that the pod's slot was already assigned to another pod when this pod was created. The pod has no slot until it
	// is assigned one.
	Waits bool
	// Barrier means that the driver starts instances on request and holds finished ones.
	Barrier  bool
	Progress Progress
	MaxStops int // maximum number of stop orders followed within a minute; default 60
	Random   func() float64
}

const (
	// Config.MaxStops and guardPeriod limit how often any store can stop a worker. Since a restart may take less than a second,
	// many restarts in a minute may be legitimate.
	defaultMaxStops = 60
	guardPeriod     = time.Minute
)

func (c Config) withDefaults() Config {
	if c.Random == nil {
		c.Random = func() float64 { return 1 }
	}
	if c.MaxStops == 0 {
		c.MaxStops = defaultMaxStops
	}
	return c
}

// State is everything that an agent knows. It is not safe for concurrent use.
type State struct {
	config Config
	memory Memory
	saved  Memory

	instances []*instance // by birth
	accounted int64       // birth of the newest instance whose death has been handled
	removing  map[string]bool

	level   rounds.Level  // the newest known level; without a phase if there is none yet
	placed  *rounds.Place // nil until the leader's decision has been read
	reading bool          // a Read is in progress
	readAt  int64         // Seq of the level when the Read began
	readOn  bool          // another Read must follow
	call    *call         // in flight
	retry   retry
	asked   map[string]bool
	fenced  bool
	ousted  bool // its own slot was assigned to another pod; the worker is stopped, then the pod waits as a spare
	leaving bool

	preparing bool // a Prepare is in progress
	released  bool // a Release was requested

	stops   []time.Time // within the last minute
	guarded bool        // the guard has logged that an order is being delayed
	told    TellRound

	troubles [2]string // by way
	foreign  int       // number of ignored values

	now  time.Time
	next time.Time
	out  []Action
}

// New returns the state of an agent. m is the memory of its previous run in the same pod, or Fresh.
func New(c Config, m Memory) *State {
	s := &State{config: c.withDefaults(), memory: m, saved: m, removing: map[string]bool{}, asked: map[string]bool{}, preparing: true}
	if c.Generation > 0 {
		s.memory.enter(c.Generation)
	}
	if m.Instance.ID != "" { // its death, if any, must still be handled
		s.accounted = m.Instance.Born - 1
		i := s.add(m.Instance.ID, m.Instance.Born)
		i.finished = m.Finished == i.ID
		i.exited = i.finished
	}
	return s
}

func (s *State) do(a Action) { s.out = append(s.out, a) }

func (s *State) log(l slog.Level, message string, fields ...any) { s.do(Log{l, message, fields}) }

// wakeAt requests a Tick no later than t.
func (s *State) wakeAt(t time.Time) {
	if s.next.IsZero() || t.Before(s.next) {
		s.next = t
	}
}

// save saves the memory if it has changed.
func (s *State) save() {
	if s.memory != s.saved {
		s.saved = s.memory
		s.do(Save{s.memory})
	}
}

// A pod works in the slot for which it was created, or in a slot that the leader has assigned to it because another pod was lost. A spare has no slot
// until it is assigned one, and neither does a pod whose own slot was assigned to another pod. Such a pod waits, and reads the leader's decision
// again whenever the level changes.

// slot returns the slot in which the pod works. Its name is empty if the pod has no slot. An assigned slot remains the pod's slot even if the store
// has lost the assignment. If the slot no longer exists in the group, the pod has no slot.
func (s *State) slot() rounds.Slot {
	slot := s.config.Slot
	switch {
	case s.memory.Slot != "":
		slot.Name = s.memory.Slot
		if s.placed != nil && !s.placed.Has(slot.Name) {
			slot.Name = ""
		}
	case (s.config.Waits || s.placed != nil && s.placed.Spare) && !s.hasRun():
		slot.Name = ""
	}
	return slot
}

// hasRun reports whether a worker has run in this pod.
func (s *State) hasRun() bool {
	return s.memory.Ran || slices.ContainsFunc(s.instances, func(i *instance) bool { return i.Ran })
}

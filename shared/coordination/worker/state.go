package worker

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Config is what an agent is given at its start.
type Config struct {
	Slot       rounds.Slot
	Generation int64 // of the group, that the pod was made for; 0: unknown
	Node       string
	PodName    string
	Grace      time.Duration // between the signal and the kill
	// RemoveStopped removes the record of every container that was stopped on an order, not only of those that exited 0. The
	// kubelet's back-off rests on that record.
	RemoveStopped bool
	// Barrier: the driver starts instances when it is told to, and holds finished ones.
	Barrier  bool
	Progress Progress
	MaxStops int // orders followed within a minute; default 5, with a barrier 60
	Random   func() float64
}

const (
	// Config.MaxStops and guardPeriod bound what any store can do to a worker. With a barrier a restart takes so little time
	// that many may be right.
	defaultMaxStops            = 5
	defaultMaxStopsWithBarrier = 60
	guardPeriod                = time.Minute
)

func (c Config) withDefaults() Config {
	if c.Random == nil {
		c.Random = func() float64 { return 1 }
	}
	if c.MaxStops == 0 {
		c.MaxStops = defaultMaxStops
		if c.Barrier {
			c.MaxStops = defaultMaxStopsWithBarrier
		}
	}
	return c
}

// State is all an agent knows. It is not safe for concurrent use.
type State struct {
	config Config
	memory Memory
	saved  Memory

	instances []*instance // by birth
	accounted int64       // birth of the newest instance whose death is accounted for
	removing  map[string]bool

	level   rounds.Level // the newest known; without a phase: none yet
	placed  *Placed      // nil until the leader's decision was read
	reading bool         // a Read is out
	call    *call        // in flight
	retry   retry
	asked   map[string]bool
	fenced  bool
	leaving bool

	preparing bool // a Prepare is out
	released  bool // a Release is out

	stops   []time.Time // of the last minute
	guarded bool        // the guard has complained
	told    TellRound

	troubles [2]string // by way
	foreign  int       // values that were ignored

	now  time.Time
	next time.Time
	out  []Action
}

// New starts from what an earlier run of the agent in the same pod remembered, or Fresh.
func New(c Config, m Memory) *State {
	s := &State{config: c.withDefaults(), memory: m, saved: m, removing: map[string]bool{}, asked: map[string]bool{}, preparing: true}
	if c.Generation > 0 {
		s.memory.enter(c.Generation)
	}
	if m.Instance.ID != "" { // whatever became of it has to be accounted for
		s.accounted = m.Instance.Born - 1
		i := s.add(m.Instance.ID, m.Instance.Born)
		i.finished = m.Finished == i.ID
		i.exited = i.finished
	}
	return s
}

// Step takes in one event and returns what to do about it.
func (s *State) Step(now time.Time, e Event) []Action {
	s.now, s.next, s.out = now, time.Time{}, nil
	if !s.fenced {
		e.apply(s)
	}
	if !s.fenced {
		s.decide()
	}
	return s.out
}

func (s *State) decide() {
	s.noteStarted()
	s.tellRound()
	s.orderStop()
	s.runAgain()
	s.start()
	s.save()
	s.endHung()
	s.prepare()
	s.release()
	s.callNext()
}

// NextTick is when a Tick is due; false if only an event can change anything.
func (s *State) NextTick() (time.Time, bool) { return s.next, !s.next.IsZero() }

// Settled reports whether nothing is left to report.
func (s *State) Settled() bool { return s.fenced || (s.call == nil && s.nextCall() == nil) }

// Fenced reports whether the pod must not act any more.
func (s *State) Fenced() bool { return s.fenced }

func (s *State) do(a Action) { s.out = append(s.out, a) }

func (s *State) log(v Severity, message string, fields ...any) { s.do(Log{v, message, fields}) }

// wakeAt asks for a Tick at t at the latest.
func (s *State) wakeAt(t time.Time) {
	if s.next.IsZero() || t.Before(s.next) {
		s.next = t
	}
}

// save writes the memory if it has changed.
func (s *State) save() {
	if s.memory != s.saved {
		s.saved = s.memory
		s.do(Save{s.memory})
	}
}

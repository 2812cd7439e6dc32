package member

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// Config is what an agent is told at its start.
type Config struct {
	Slot  string // the worker ID
	Pod   string // pod UID
	Epoch int64  // that the pod was made for; 0: not known
	Place coordination.Place
	Grace time.Duration // between the signal and the kill
	// RemoveStopped removes the record of every container that was stopped on an order, not only of those that exited 0.
	// The kubelet's back-off rests on that record: without it a worker that was ordered to restart starts at once.
	RemoveStopped bool
	// Barrier: instances wait for a Lift, the driver starts them when told (Begin), and finished ones are held.
	Barrier  bool
	Progress Progress
	MaxStops int // orders followed within a minute; default 5, at a barrier 60
	Random   func() float64
}

func (c Config) withDefaults() Config {
	if c.Random == nil {
		c.Random = func() float64 { return 1 }
	}
	if c.MaxStops == 0 {
		c.MaxStops = defaultMaxStops
		if c.Barrier {
			c.MaxStops = defaultMaxStopsAtBarrier
		}
	}
	return c
}

// State is all an agent knows. It is not safe for concurrent use.
type State struct {
	config Config
	memory Memory
	saved  Memory

	lives    []*life // by birth; the dead ones are not reported yet
	reported int64   // birth of the newest instance whose death is reported
	removing map[string]bool

	level   coordination.Level // the newest known; empty: none yet
	place   *place             // where the slot is in it; nil until the store has said so
	call    *call              // in flight
	retry   retry
	asked   map[string]bool
	fenced  bool
	leaving bool

	beginning bool // a Begin is out
	released  bool // a Release is out

	stops   []time.Time // of the last minute
	guarded bool        // the guard has complained
	told    WriteRound  // what the worker was told last

	troubles [2]string // by way
	foreign  int       // values that were ignored

	now  time.Time
	next time.Time
	out  []Action
}

// New starts from what an earlier run of the agent in the same pod remembered, or Fresh.
func New(c Config, m Memory) *State {
	s := &State{
		config: c.withDefaults(), memory: m, saved: m, removing: map[string]bool{}, asked: map[string]bool{}, beginning: true,
	}
	if m.Instance.ID != "" {
		// The living instance of that time has to be accounted for; those before it were.
		s.reported = m.Instance.Born - 1
		l := s.add(m.Instance)
		l.finished = m.Finished == m.Instance.ID
		l.exited = l.finished
	}
	return s
}

// Step takes in one event and returns what to do about it.
func (s *State) Step(now time.Time, e Event) []Action {
	s.now, s.next, s.out = now, time.Time{}, nil
	e.apply(s)
	if !s.fenced {
		s.decide()
	}
	return s.out
}

func (s *State) decide() {
	s.noteEntered()
	s.noteRunning()
	s.tellRound()
	s.orderStop()
	s.runAgain()
	s.save()
	s.lift()
	s.endHung()
	s.begin()
	s.release()
	s.callNext()
}

// NextTick is when a Tick is due; false if only an event can bring news.
func (s *State) NextTick() (time.Time, bool) { return s.next, !s.next.IsZero() }

// Settled tells whether nothing is left to report.
func (s *State) Settled() bool {
	return s.fenced || (s.call == nil && s.nextCall() == nil)
}

func (s *State) member() coordination.Member {
	return coordination.Member{Slot: s.config.Slot, Pod: s.config.Pod, PodBorn: s.memory.PodBorn, Place: s.config.Place}
}

func (s *State) do(a Action) { s.out = append(s.out, a) }

func (s *State) log(v Severity, message string, fields ...any) { s.do(Log{v, message, fields}) }

// wakeAt asks for a Tick at t at the latest.
func (s *State) wakeAt(t time.Time) {
	if s.next.IsZero() || t.Before(s.next) {
		s.next = t
	}
}

// save writes the memory if it changed. It comes before a stop takes effect and after the store has answered.
func (s *State) save() {
	if s.memory != s.saved {
		s.saved = s.memory
		s.do(Save{s.memory})
	}
}

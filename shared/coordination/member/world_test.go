package member

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/memory"
)

const group = "uid"

// world is a group of pods with their kubelets, a store and a leader, in virtual time. One seed is one history.
type world struct {
	t       *testing.T
	rng     *rand.Rand
	now     time.Time
	queue   []happening
	order   int
	store   *memory.Store
	level   coordination.Level
	epoch   int64
	inc     int
	size    int64
	births  int64
	pods    []*pod
	desired map[int64]int64 // the highest round by epoch
	since   time.Time       // of the level
	stops   map[string]int  // by instance and run of the agent
	killed  int
	trace   []string
	back    time.Time // when the store last went back
	calm    bool      // no more faults
}

type happening struct {
	at    time.Time
	order int
	do    func()
}

func newWorld(t *testing.T, seed uint64, size int) *world {
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 1)), now: time.Unix(1_000_000, 0), epoch: 1, size: int64(size), stops: map[string]int{}, desired: map[int64]int64{}}
	w.store = memory.New(func() time.Time { return w.now })
	w.lead()
	for i := range size {
		w.pods = append(w.pods, newPod(w, i))
	}
	return w
}

// after schedules something; the order of what happens at the same time is kept.
func (w *world) after(d time.Duration, do func()) {
	w.order++
	h := happening{w.now.Add(d), w.order, do}
	at, _ := slices.BinarySearchFunc(w.queue, h, func(a, b happening) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return a.order - b.order
	})
	w.queue = slices.Insert(w.queue, at, h)
}

func (w *world) run(d time.Duration) {
	end := w.now.Add(d)
	for len(w.queue) > 0 && !w.queue[0].at.After(end) {
		h := w.queue[0]
		w.queue = w.queue[1:]
		w.now = h.at
		h.do()
	}
	w.now = end
}

func (w *world) between(low, high time.Duration) time.Duration {
	return low + time.Duration(w.rng.Int64N(int64(high-low)+1))
}

func (w *world) chance(percent int) bool { return w.rng.IntN(100) < percent }

func (w *world) note(format string, args ...any) {
	w.trace = append(w.trace, w.now.UTC().Format("04:05.000 ")+fmt.Sprintf(format, args...))
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("%s\n%s", fmt.Sprintf(format, args...), strings.Join(w.trace[max(0, len(w.trace)-120):], "\n"))
}

// publish broadcasts the level if it changed: late, sometimes twice, sometimes not at all.
func (w *world) publish() {
	sum, err := w.store.Summary(context.Background(), group)
	if err != nil || sum.Level == w.level {
		return
	}
	w.level, w.since = sum.Level, w.now
	w.desired[w.level.Epoch] = max(w.desired[w.level.Epoch], w.level.Round)
	w.note("level %s joined=%d", sum.Level, sum.Joined)
	for _, p := range w.pods {
		for range 1 + w.rng.IntN(2) {
			if w.calm || w.chance(90) {
				l := sum.Level
				w.after(w.between(0, 30*time.Millisecond), func() { p.step(Told{coordination.Observation{Level: l}}) })
			}
		}
	}
}

// read is what a watcher reads.
func (w *world) read() coordination.Observation {
	sum, err := w.store.Summary(context.Background(), group)
	return coordination.Observation{Level: sum.Level, Read: err == nil, Err: err}
}

// inSync tells what is missing for the group to be in sync, or nothing.
func (w *world) inSync() string {
	g := w.store.Dump()[group]
	if g != nil && g.Phase == coordination.Completed && !slices.ContainsFunc(w.pods, func(p *pod) bool { return !p.finished }) {
		return ""
	}
	if g == nil || g.Phase != coordination.Running {
		return fmt.Sprint("the group is not Running: ", w.level)
	}
	for _, p := range w.pods {
		if missing := p.inSync(g); missing != "" {
			return p.uid + ": " + missing
		}
	}
	return ""
}

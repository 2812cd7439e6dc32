package member

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/memory"
)

var (
	seeds     = flag.Int("seeds", 1000, "number of simulated histories")
	firstSeed = flag.Uint64("first-seed", 1, "the first of them")
)

// TestRandomFaultsEndInSync lets everything fail for two minutes, then waits until nothing is amiss.
func TestRandomFaultsEndInSync(t *testing.T) {
	killed := 0
	for seed := *firstSeed; seed < *firstSeed+uint64(*seeds); seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := newWorld(t, seed, 2+int(seed%4))
			w.disturb()
			w.run(2 * time.Minute)
			w.settle()
			killed += w.killed
		})
	}
	if killed == 0 {
		t.Error("no history had an order: the test tests nothing")
	}
}

// disturb schedules one fault after the other.
func (w *world) disturb() {
	w.after(w.between(100*time.Millisecond, 12*time.Second), func() {
		if w.calm {
			return
		}
		w.disturb()
		w.fault()
	})
}

func (w *world) fault() {
	p := w.pods[w.rng.IntN(len(w.pods))]
	switch w.rng.IntN(12) {
	case 0, 1, 2, 3:
		p.kill(1 + w.rng.Int64N(200))
	case 4:
		if w.chance(20) {
			p.kill(0)
		}
	case 5, 6, 7:
		w.note("%s agent dies", p.uid)
		p.crash()
		p.after(w.between(10*time.Millisecond, 3*time.Second), p.here(p.startAgent))
	case 8:
		p.replace()
	case 9:
		w.outage()
	case 10:
		w.note("the store loses all")
		w.store.Wipe()
		w.reread()
	case 11:
		w.setBack()
	}
}

func (p *pod) kill(code int64) {
	if c := p.newest(); c != nil {
		p.exit(c, code, true)
	}
}

func (w *world) outage() {
	w.note("the store is away")
	w.store.SetReachable(false)
	w.reread()
	w.after(w.between(100*time.Millisecond, 8*time.Second), func() {
		w.note("the store is back")
		w.store.SetReachable(true)
		w.reread()
	})
}

// setBack makes the store lose its last moments.
func (w *world) setBack() {
	dump := w.store.Dump()
	if len(dump) == 0 {
		return
	}
	w.after(w.between(0, time.Second), func() {
		w.note("the store goes back")
		w.restore(dump)
	})
}

func (w *world) restore(d memory.Dump) {
	w.store.Restore(d)
	w.back = w.now
	w.publish()
	w.reread()
}

// reread is what the watchers do after a lost connection.
func (w *world) reread() {
	for _, p := range w.pods {
		w.after(w.between(50*time.Millisecond, time.Second), func() { p.step(Told{w.read()}) })
	}
}

func (w *world) settle() {
	w.calm = true
	w.store.SetReachable(true)
	for range 20 {
		w.run(30 * time.Second)
		if w.inSync() == "" {
			return
		}
	}
	w.fail("ten minutes after the last fault: %s", w.inSync())
}

// TestNobodyIsStoppedWithoutACause has faults that must not cost a single worker.
func TestNobodyIsStoppedWithoutACause(t *testing.T) {
	cases := map[string]func(*world){
		"the agents restart": func(w *world) {
			for _, p := range w.pods {
				p.crash()
				w.after(time.Second, p.startAgent)
			}
		},
		"the store is away for a while": (*world).outage,
		"the store loses all":           func(w *world) { w.store.Wipe(); w.reread() },
		"the store goes back a second":  (*world).setBack,
		"the agents restart on an empty store": func(w *world) {
			w.store.Wipe()
			for _, p := range w.pods {
				p.crash()
				w.after(time.Second, p.startAgent)
			}
		},
		"the leader opens the group again": func(w *world) { w.open(true) },
	}
	for name, fault := range cases {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(20) {
				w := newWorld(t, seed, 4)
				w.calm = true
				w.run(time.Minute)
				if missing := w.inSync(); missing != "" {
					w.fail("not in sync before the fault: %s", missing)
				}
				fault(w)
				w.settle()
				if w.killed > 0 {
					w.fail("%d workers were stopped", w.killed)
				}
			}
		})
	}
}

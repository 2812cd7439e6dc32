package policy

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/indexes"
	"github.com/holdfast-project/holdfast/shared/restart"
)

// actors are the events that can happen to a job. Each returns a description for the log.
var actors = []func(*world, *rand.Rand) string{
	func(w *world, r *rand.Rand) string {
		return w.someone(r, "fails", func(p *Pod) { p.Phase, p.Ready, p.ExitCode = corev1.PodFailed, false, 1 })
	},
	func(w *world, r *rand.Rand) string {
		return w.someone(r, "is evicted", func(p *Pod) { p.Phase, p.Ready, p.Disruption = corev1.PodFailed, false, "it was evicted" })
	},
	func(w *world, r *rand.Rand) string {
		return w.someone(r, "is drained", func(p *Pod) { p.Terminating, p.Disruption = true, "it was evicted" })
	},
	func(w *world, r *rand.Rand) string {
		return w.someone(r, "loses its node", func(p *Pod) { p.Node = NodeLost })
	},
	func(w *world, r *rand.Rand) string {
		return w.someone(r, "is cordoned", func(p *Pod) { p.Node = NodeDraining })
	},
	func(w *world, r *rand.Rand) string {
		return w.someone(r, "is not ready", func(p *Pod) { p.Ready = false })
	},
	func(w *world, r *rand.Rand) string {
		for i := range w.facts.Pods {
			if r.IntN(4) == 0 {
				delete(w.facts.Pods, i)
			}
		}
		return "pods vanish"
	},
	func(w *world, r *rand.Rand) string {
		s := &w.facts.Settings
		s.Wanted = s.Min + r.IntN(s.Max-s.Min+1)
		return fmt.Sprint("scaled to ", s.Wanted)
	},
	func(w *world, r *rand.Rand) string {
		w.pass(time.Duration(r.IntN(20)) * time.Minute)
		return "time passes"
	},
	func(w *world, r *rand.Rand) string {
		w.facts.Settings.Suspend = !w.facts.Settings.Suspend
		return fmt.Sprint("suspend ", w.facts.Settings.Suspend)
	},
	// The manager restarts after writing the status and before acting on it, or its cache is out of date.
	func(w *world, _ *rand.Rand) string {
		pods := make(map[int]Pod, len(w.facts.Pods))
		for i, pod := range w.facts.Pods {
			pods[i] = pod
		}
		w.look()
		w.facts.Pods = pods
		return "the decision is not carried out"
	},
}

func (w *world) someone(r *rand.Rand, what string, change func(*Pod)) string {
	list := (&decider{Facts: &w.facts}).podIndexes()
	if len(list) == 0 {
		return "no worker " + what
	}
	i := list[r.IntN(len(list))]
	if w.facts.Pods[i].terminated() {
		return "no worker " + what
	}
	w.change(i, change)
	return fmt.Sprint(i, " ", what)
}

// nodes starts some pods, and removes some terminating ones.
func (w *world) nodes(r *rand.Rand) {
	for _, i := range (&decider{Facts: &w.facts}).podIndexes() {
		switch pod := w.facts.Pods[i]; {
		case pod.Terminating && pod.Node != NodeLost && r.IntN(2) == 0:
			delete(w.facts.Pods, i)
		case pod.pending() && !pod.Terminating && pod.Node != NodeLost && r.IntN(2) == 0:
			w.run(i)
		}
	}
}

// checked makes one decision and checks its invariants.
func (w *world) checked(t *testing.T) {
	before := map[int]Pod{}
	for i, pod := range w.facts.Pods {
		before[i] = pod
	}
	d := w.look()
	s := w.facts.Settings
	goes := map[types.UID]bool{}
	for _, gone := range d.Delete {
		goes[gone.UID] = true
	}
	var live, ran, runs int
	for i, pod := range before {
		alive := pod.running() && d.Memory.Workers[i].LastPod != pod.UID
		if alive {
			ran++
			if !goes[pod.UID] {
				runs++
			}
		}
	}
	for _, pod := range w.facts.Pods {
		if !pod.terminated() && !pod.Terminating && pod.Node != NodeLost {
			live++
		}
	}
	switch {
	case live > s.Max:
		t.Fatalf("%d workers, at most %d are allowed", live, s.Max)
	case !s.Suspend && d.Memory.Ended == "" && runs < min(ran, s.Min):
		t.Fatalf("%d workers were running, %d remain, %d are needed", ran, runs, s.Min)
	case !s.Suspend && d.Memory.Ended == "" && (len(d.Memory.Indexes) < s.Min || len(d.Memory.Indexes) > s.Wanted):
		t.Fatalf("indexes %s, want between %d and %d", d.Memory.Indexes, s.Min, s.Wanted)
	}
}

// Events in any order never lead to more workers than allowed. The controller never deletes workers below the minimum, and the job reaches
// the desired number of workers once faults stop.
func TestRandomHistories(t *testing.T) {
	seeds := 4000
	if testing.Short() {
		seeds = 400
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { history(t, uint64(seed)) })
		if t.Failed() {
			return
		}
	}
}

func history(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	minimum := 1 + r.IntN(4)
	maximum := minimum + r.IntN(6)
	w := newWorld(minimum, minimum+r.IntN(maximum-minimum+1), maximum, func(s *Settings) {
		s.Backoff = new(restart.Budget(1_000_000))
		if seed%4 == 0 {
			s.Backoff = new(restart.Budget(seed % 7))
		}
	})
	var log []string
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%v", p)
		}
		if t.Failed() {
			for _, line := range log {
				t.Log(line)
			}
		}
	}()
	for range 60 {
		if r.IntN(3) == 0 {
			log = append(log, actors[r.IntN(len(actors))](w, r))
		}
		w.checked(t)
		log = append(log, fmt.Sprintf("  %v %s", w.facts.Memory.Indexes, w.last.Status.State))
		w.nodes(r)
	}
	w.rest(t, seed)
}

// rest stops all faults and lets all timeouts expire.
func (w *world) rest(t *testing.T, seed uint64) {
	w.facts.Settings.Suspend = false
	for i, pod := range w.facts.Pods {
		if pod.Node != NodeLost {
			pod.Node = NodeOK
			w.facts.Pods[i] = pod
		}
	}
	for range 5 {
		w.play()
		w.pass(time.Hour)
	}
	w.play()
	if w.facts.Memory.Ended != "" {
		if seed%4 != 0 {
			t.Fatalf("ended: %s", w.last.Status.Message)
		}
		return
	}
	alive := 0
	for i, pod := range w.facts.Pods {
		switch {
		case !w.facts.Memory.Indexes.Has(i):
			t.Fatalf("pod %d is left", i)
		case pod.running():
			alive++
		}
	}
	abandoned, err := indexes.Parse(w.last.Status.FailedIndexes)
	if err != nil {
		t.Fatal(err)
	}
	if want := w.facts.Settings.Wanted - len(abandoned); alive != want || w.last.Status.State != v1alpha1.StateRunning {
		t.Fatalf("%d workers run, want %d; %s: %s", alive, want, w.last.Status.State, w.last.Status.Message)
	}
}

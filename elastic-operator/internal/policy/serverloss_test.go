package policy

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

// exits makes a worker fail. began and finished are its start and end times, relative to noon.
func (w *world) exits(i int, began, finished time.Duration) *world {
	return w.change(i, func(p *Pod) {
		p.Phase, p.ExitCode, p.Began, p.Finished = corev1.PodFailed, 1, noon.Add(began), noon.Add(finished)
	})
}

func TestServerLossIsADisruption(t *testing.T) {
	for name, tc := range map[string]struct {
		managed               bool
		server                time.Duration // start time relative to noon, negative if it is not running
		began, finished       time.Duration
		failures, disruptions int32
	}{
		"no server is running":                     {true, -1, 0, time.Minute, 0, 1},
		"the server restarted while it ran":        {true, time.Minute, 0, 70 * time.Second, 0, 1},
		"it ended before the server restarted":     {true, time.Minute, 0, 50 * time.Second, 0, 1},
		"it ended long after the server restarted": {true, time.Minute, 0, 3 * time.Minute, 1, 0},
		"it began after the server":                {true, time.Minute, 2 * time.Minute, 130 * time.Second, 1, 0},
		"the user runs the rendezvous":             {false, -1, 0, time.Minute, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(2, 3, 3).play()
			w.facts.Rendezvous = Rendezvous{Managed: tc.managed}
			if tc.server >= 0 {
				w.facts.Rendezvous.Started = noon.Add(tc.server)
			}
			w.pass(5*time.Minute).exits(1, tc.began, tc.finished).play()
			if h := w.facts.Memory.Workers[1]; h.Failures != tc.failures || h.Disruptions != tc.disruptions {
				t.Errorf("%+v", h)
			}
		})
	}
}

func TestFailureJustBeforeTheServerRestartIsRefunded(t *testing.T) {
	for name, tc := range map[string]struct {
		later    time.Duration // from the counting of the failure to the start of the server
		failures int32
	}{
		"at once":                      {time.Second, 0},
		"in the same second":           {-time.Second, 0},
		"much later":                   {refundWindow + time.Second, 1},
		"before, and already reported": {-reportLag - time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(2, 3, 3).play()
			w.facts.Rendezvous = Rendezvous{Managed: true, Started: noon.Add(-time.Hour)}
			w.pass(time.Minute).exits(1, 0, time.Minute).look()
			if w.facts.Status.Restarts != 1 {
				t.Fatalf("%+v", w.facts.Memory)
			}
			w.facts.Rendezvous.Started = w.facts.Now.Add(tc.later)
			w.pass(max(0, tc.later)).play()
			w.play()
			h, s := w.facts.Memory.Workers[1], w.facts.Status
			if h.Failures != tc.failures || h.Failures+h.Disruptions != 1 || s.Restarts != tc.failures || s.Disruptions != h.Disruptions {
				t.Errorf("%+v", s)
			}
		})
	}
}

func TestJobIsNotRunningBeforeTheFirstRound(t *testing.T) {
	w := newWorld(2, 3, 3).play()
	w.facts.Rendezvous = Rendezvous{Managed: true, Incomplete: "nobody has met"}
	w.look()
	if c := w.condition(v1alpha1.JobRunning); c.Status != "False" || c.Reason != v1alpha1.ReasonNotMet || c.Message != "nobody has met" || w.last.Status.State != v1alpha1.StatePending {
		t.Errorf("%s, %+v", w.last.Status.State, c)
	}
	w.facts.Rendezvous.Incomplete = ""
	w.look()
	w.want(t, "0,1,2", v1alpha1.StateRunning)
}

package policy

import (
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

func TestReplacementIsAnnounced(t *testing.T) {
	w := newWorld(1, 2, 2).play()
	if w.last.Recovering != nil {
		t.Errorf("nothing has failed: %+v", w.last.Recovering)
	}
	w.fail(0, 1).look()
	want := recovering.State{Level: recovering.LevelElastic, Reason: "ElasticJob a is restarting because 1 Worker replica(s) failed.", Deadline: noon.Add(recoveryTimeout)}
	if got := w.last.Recovering; got == nil || *got != want {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	w.pass(time.Minute).look()
	if got := w.last.Recovering; got == nil || *got != want {
		t.Errorf("while its replacement waits for a node: %+v", got)
	}
	if w.play(); w.last.Recovering != nil {
		t.Errorf("after all workers are running again: %+v", w.last.Recovering)
	}
}

// A replacement that stays unschedulable for a long time no longer counts as a recovery in progress.
func TestRecoveryTimesOut(t *testing.T) {
	w := newWorld(1, 2, 2).play().fail(0, 1)
	w.look()
	w.look()
	if w.last.After != recoveryTimeout {
		t.Errorf("next reconcile after %s", w.last.After)
	}
	w.pass(recoveryTimeout).look()
	if w.last.Recovering != nil || w.last.Status.State != v1alpha1.StateRestarting {
		t.Errorf("%+v, %s", w.last.Recovering, w.last.Status.State)
	}
}

func TestOtherStatesAreNotAnnounced(t *testing.T) {
	for name, w := range map[string]*world{
		"workers that were abandoned":   newWorld(1, 2, 2, func(s *Settings) { s.Restart = v1alpha1.RestartNever }).play().fail(0, 1),
		"a job that is scaled":          newWorld(1, 2, 3).play().change(0, func(*Pod) {}).scaled(3),
		"a job that has failed":         newWorld(2, 2, 2, func(s *Settings) { s.Restart, s.Settle = v1alpha1.RestartNever, 0 }).play().fail(0, 1),
		"a job that has been suspended": newWorld(1, 2, 2).play().fail(0, 1).suspended(),
	} {
		if w.look(); w.last.Recovering != nil {
			t.Errorf("%s: %+v", name, w.last.Recovering)
		}
	}
}

func (w *world) scaled(to int) *world { w.facts.Settings.Wanted = to; return w }

func (w *world) suspended() *world { w.facts.Settings.Suspend = true; return w }

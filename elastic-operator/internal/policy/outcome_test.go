package policy

import (
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

func TestSuccess(t *testing.T) {
	policy := func(kind v1alpha1.SuccessPolicyType, percent *int32) func(*Settings) {
		return func(s *Settings) { s.Success = v1alpha1.SuccessPolicy{Type: kind, Percent: percent} }
	}
	for name, tc := range map[string]struct {
		change    func(*Settings)
		completed []int
		failed    []int
		want      v1alpha1.State
	}{
		"all have completed":                {policy(v1alpha1.SuccessAll, nil), []int{0, 1, 2, 3}, nil, v1alpha1.StateSucceeded},
		"all but one have completed":        {policy(v1alpha1.SuccessAll, nil), []int{0, 1, 2}, nil, v1alpha1.StateRunning},
		"all but an abandoned one":          {policy(v1alpha1.SuccessAll, nil), []int{0, 1, 2}, []int{3}, v1alpha1.StateSucceeded},
		"too few of the remaining workers":  {policy(v1alpha1.SuccessAll, nil), []int{0}, []int{1, 2, 3}, v1alpha1.StateFailed},
		"any has completed":                 {policy(v1alpha1.SuccessAny, nil), []int{2}, nil, v1alpha1.StateSucceeded},
		"half have completed":               {policy(v1alpha1.SuccessPercent, ptr.To(int32(50))), []int{2, 3}, nil, v1alpha1.StateSucceeded},
		"half are less than 51 percent":     {policy(v1alpha1.SuccessPercent, ptr.To(int32(51))), []int{2, 3}, nil, v1alpha1.StateRunning},
		"75 percent can no longer complete": {policy(v1alpha1.SuccessPercent, ptr.To(int32(75))), []int{2, 3}, []int{0, 1}, v1alpha1.StateFailed},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(2, 4, 4, tc.change, func(s *Settings) { s.Restart, s.Settle = v1alpha1.RestartNever, 0 }).play()
			for _, i := range tc.failed {
				w.fail(i, 1)
			}
			for _, i := range tc.completed {
				w.complete(i)
			}
			w.look()
			if w.last.Status.State != tc.want {
				t.Errorf("%s, want %s: %s", w.last.Status.State, tc.want, w.last.Status.Message)
			}
		})
	}
}

func TestCompletedWorkerDoesNotRunAgain(t *testing.T) {
	w := newWorld(1, 3, 3).play().complete(1)
	w.look()
	delete(w.facts.Pods, 1) // garbage-collected
	w.play().want(t, "0,2", v1alpha1.StateRunning)
	w.complete(0).complete(2).look()
	w.want(t, "", v1alpha1.StateSucceeded)
}

// The upstream controller did not detect that the job had succeeded if replicas was lowered below the number of completed workers.
func TestScaleBelowTheNumberOfCompletedWorkers(t *testing.T) {
	w := newWorld(1, 4, 4).play().complete(1).complete(2).complete(3)
	w.look()
	w.facts.Settings.Wanted = 2
	w.look()
	w.want(t, "", v1alpha1.StateSucceeded)
}

func TestDeadlineStopsWorkers(t *testing.T) {
	w := newWorld(1, 2, 2, func(s *Settings) { s.Deadline = ptr.To(time.Hour) }).play()
	if w.look(); w.last.After != time.Hour {
		t.Errorf("next reconcile after %s", w.last.After)
	}
	w.pass(time.Hour).look()
	w.want(t, "", v1alpha1.StateFailed)
	w.heard(t, "DeadlineExceeded: ElasticJob a is failed because it was active longer than activeDeadlineSeconds.")
}

func TestPodsOfAFinishedJob(t *testing.T) {
	for name, tc := range map[string]struct {
		clean   v1alpha1.CleanPodPolicy
		left    int
		running string
	}{
		"None keeps all":                {v1alpha1.CleanNone, 3, "1,2"},
		"Running stops running workers": {v1alpha1.CleanRunning, 1, ""},
		"All keeps none":                {v1alpha1.CleanAll, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(1, 3, 3, func(s *Settings) {
				s.Success, s.Clean = v1alpha1.SuccessPolicy{Type: v1alpha1.SuccessAny}, tc.clean
			}).play().complete(0).play()
			w.want(t, tc.running, v1alpha1.StateSucceeded)
			if len(w.facts.Pods) != tc.left {
				t.Errorf("pods %v", w.facts.Pods)
			}
			w.play()
			if c := w.last.Status.ReplicaStatuses.Worker; c.Succeeded != 1 || c.Failed != 0 {
				t.Errorf("counts %+v", c)
			}
			if w.last.Rendezvous != (tc.running != "") {
				t.Errorf("workers %s have a rendezvous: %t", tc.running, w.last.Rendezvous)
			}
		})
	}
}

func TestFinishedJobIsDeletedAfterItsTTL(t *testing.T) {
	w := newWorld(1, 1, 1, func(s *Settings) { s.TTL = ptr.To(time.Minute) }).play().complete(0)
	if d := w.look(); d.RemoveJob || d.After != time.Minute {
		t.Errorf("removed %t, after %s", d.RemoveJob, d.After)
	}
	w.pass(59 * time.Second).look()
	if w.last.RemoveJob {
		t.Error("removed too early")
	}
	if w.pass(time.Second).look(); !w.last.RemoveJob {
		t.Error("not removed")
	}
}

// Changes to pods after the job has finished are ignored.
func TestFinishedJobDoesNotChange(t *testing.T) {
	w := newWorld(1, 3, 3, func(s *Settings) { s.Success.Type = v1alpha1.SuccessAny }).play().complete(0).play()
	w.fail(1, 1).evict(2).play()
	w.want(t, "", v1alpha1.StateSucceeded)
	if len(w.last.Delete)+len(w.last.Create)+len(w.last.Faults) != 0 || w.last.Status.ReplicaStatuses.Worker.Failed != 0 {
		t.Errorf("%+v", w.last)
	}
}

func TestSuspendAndResume(t *testing.T) {
	w := newWorld(2, 3, 3).play().complete(2)
	w.look()
	w.facts.Settings.Suspend = true
	w.look()
	w.look()
	w.want(t, "", v1alpha1.StateSuspended)
	if w.last.Rendezvous || !w.facts.Memory.Started.IsZero() || w.facts.Status.Resumes != 1 {
		t.Errorf("rendezvous %t, started %s, resumes %d", w.last.Rendezvous, w.facts.Memory.Started, w.facts.Status.Resumes)
	}
	// Pods that are still terminating when the job is resumed are not counted as disrupted.
	w.pass(time.Hour).facts.Settings.Suspend = false
	w.play().want(t, "0,1", v1alpha1.StateRunning)
	if s := w.facts.Status; s.Disruptions != 0 || !s.StartTime.Time.Equal(w.facts.Now) {
		t.Errorf("disruptions %d, started %s", s.Disruptions, s.StartTime)
	}
	w.heard(t, "ElasticJobSuspended: ElasticJob a is suspended.", "ElasticJobResumed: ElasticJob a is resumed.")
}

func TestJobCreatedSuspendedHasNoPods(t *testing.T) {
	w := newWorld(1, 2, 2, func(s *Settings) { s.Suspend = true })
	if d := w.play().last; len(w.facts.Pods) != 0 || d.Status.State != v1alpha1.StateSuspended || w.facts.Status.Resumes != 0 {
		t.Errorf("pods %v, state %s", w.facts.Pods, d.Status.State)
	}
}

// With a rendezvous, the agents would wait for more workers, holding their devices until they time out.
func TestFailedJobDoesNotNeedTheRendezvous(t *testing.T) {
	w := newWorld(2, 2, 2, func(s *Settings) { s.Settle, s.Restart = 0, v1alpha1.RestartNever }).play().fail(0, 1).play()
	w.want(t, "1", v1alpha1.StateFailed)
	if w.last.Rendezvous {
		t.Error("the rendezvous is needed")
	}
}

package jobset

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// The cache lags: a pass that sees the Jobs as they were before the last one does nothing again.
func TestWhatTheCacheDoesNotShowYetIsNotDoneAgain(t *testing.T) {
	for name, change := range map[string]func(*memory){
		"creation": func(m *memory) { m.jobs = nil },
		"suspend":  func(m *memory) { m.jobSet.Spec.Suspend = new(true) },
		"resume":   suspendAll,
		"restart":  func(m *memory) { m.jobSet.Status.Restarts++ },
	} {
		t.Run(name, func(t *testing.T) {
			const size = 20
			m := running(size)
			change(m)
			r := New(Options{Client: m, Live: m, Recorder: silence{}})
			for _, want := range []int32{size, 0} {
				m.jobCalls.Store(0)
				result, err := r.Reconcile(t.Context(), m.jobSet.DeepCopy())
				if got := m.jobCalls.Load(); err != nil || got != want {
					t.Errorf("%d calls, want %d (%v)", got, want, err)
				}
				if want == 0 && result.RequeueAfter == 0 {
					t.Error("nobody looks again should the cache never show it")
				}
			}
		})
	}
}

// Each news of a Job that runs brings a pass: those that the API server refuses must not be asked for again in each.
func TestJobsThatAreRefusedAreNotAskedForInEveryPass(t *testing.T) {
	gk := schema.GroupKind{Group: "batch", Kind: "Job"}
	for name, c := range map[string]struct {
		err   error
		pause time.Duration
	}{
		"invalid":   {apierrors.NewInvalid(gk, "a", nil), foreignRetry},
		"forbidden": {apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "a", errors.New("exceeded quota")), forbiddenRetry},
	} {
		t.Run(name, func(t *testing.T) {
			const size = 20
			m, clock := running(size), testingclock.NewFakePassiveClock(time.Unix(1e9, 0))
			m.jobs, m.refuses = nil, c.err
			r := New(Options{Client: m, Live: m, Recorder: silence{}, Clock: clock})
			for i, want := range []int32{size, 0, 0, size} {
				if i == 3 {
					clock.SetTime(clock.Now().Add(c.pause))
				}
				m.jobCalls.Store(0)
				result, err := r.Reconcile(t.Context(), m.jobSet.DeepCopy())
				if got := m.jobCalls.Load(); got != want {
					t.Errorf("pass %d: %d calls, want %d", i, got, want)
				}
				if err == nil && (result.RequeueAfter == 0 || result.RequeueAfter > c.pause) {
					t.Errorf("pass %d: again after %s", i, result.RequeueAfter)
				}
			}
			m.jobSet.Generation++
			m.jobCalls.Store(0)
			_, _ = r.Reconcile(t.Context(), m.jobSet.DeepCopy())
			if got := m.jobCalls.Load(); got != size {
				t.Errorf("when the spec has changed: %d calls", got)
			}
		})
	}
}

// A teardown of thousands of Jobs brings as many passes, and each look at their pods is at all of them.
func TestPodsThatMayBeStuckAreLookedAtNowAndThen(t *testing.T) {
	clock := testingclock.NewFakePassiveClock(time.Unix(1e9, 0))
	r := New(Options{Clock: clock})
	if wait := r.lookedLately("uid", stuckLook); wait != 0 {
		t.Errorf("at first: after %s", wait)
	}
	clock.SetTime(clock.Now().Add(stuckLook / 5))
	if wait := r.lookedLately("uid", stuckLook); wait != stuckLook-stuckLook/5 {
		t.Errorf("a moment later: after %s", wait)
	}
	if wait := r.lookedLately("another", stuckLook); wait != 0 {
		t.Errorf("another: after %s", wait)
	}
	clock.SetTime(clock.Now().Add(stuckLook))
	if wait := r.lookedLately("uid", stuckLook); wait != 0 {
		t.Errorf("later: after %s", wait)
	}
}

// A gate was turned off while JobSets that use it run: they are stopped when they are to be, and complete.
func TestWhatRunsWithoutItsGateComesToItsEnd(t *testing.T) {
	for name, change := range map[string]func(*memory){
		"suspended": func(m *memory) { m.jobSet.Spec.Suspend = new(true) },
		"nothing":   func(*memory) {},
	} {
		const size = 3
		m := running(size)
		m.jobSet.Spec.FailurePolicy = &v1alpha2.FailurePolicy{Rules: []v1alpha2.FailurePolicyRule{{Name: "alone", Action: v1alpha2.RestartJob}}}
		change(m)
		r := New(Options{Client: m, Live: m, Recorder: silence{}})
		_, err := r.Reconcile(t.Context(), m.jobSet.DeepCopy())
		want := int32(0)
		if name == "suspended" {
			want = size
		}
		if got := m.jobCalls.Load(); err != nil || got != want {
			t.Errorf("%s: %d calls, want %d (%v)", name, got, want, err)
		}
	}
}

// A JobSet of thousands of Jobs is reconciled at news of its Jobs: a pass that finds nothing to do must not allocate for each of
// them (the published controller allocates by their square).
func TestFindingNothingToDoAllocatesNothingForAJob(t *testing.T) {
	const most = 250.0 // for the pass, whatever the number of Jobs
	for _, size := range []int{500, 5000} {
		m := running(size)
		r := New(Options{Client: m, Live: m, Recorder: silence{}})
		got := testing.AllocsPerRun(3, func() {
			if _, err := r.Reconcile(t.Context(), m.jobSet); err != nil {
				t.Fatal(err)
			}
		})
		if got > most {
			t.Errorf("%d jobs: %.0f allocations", size, got)
		}
		if m.writes > 0 {
			t.Fatalf("there was something to do: %d writes", m.writes)
		}
	}
}

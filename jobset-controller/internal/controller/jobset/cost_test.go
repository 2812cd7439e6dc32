package jobset

import (
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
)

// The cache is stale: a reconcile that sees the Jobs as they were before the last reconcile must not repeat any writes.
func TestStaleCacheRepeatsNoWrites(t *testing.T) {
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
					t.Error("no requeue in case the cache never shows the write")
				}
			}
		})
	}
}

// The end of a restart is written to the history, then to the status. The first write triggers a reconcile that does
// not see the second one yet.
func TestEndOfARestartIsWrittenOnce(t *testing.T) {
	m := running(2)
	m.jobSet.ResourceVersion = "1"
	m.jobSet.Status.Conditions = append(m.jobSet.Status.Conditions, isTrue(v1alpha2.JobSetRestarting, "r"))
	r := New(Options{Client: m, Live: m, Recorder: silence{}, Metrics: NewMetrics(prometheus.NewRegistry())})
	for range 2 {
		if _, err := r.Reconcile(t.Context(), m.jobSet.DeepCopy()); err != nil {
			t.Fatal(err)
		}
	}
	if m.writes != 1 || m.jobCalls.Load() != 1 {
		t.Errorf("%d writes of the status, %d of the history", m.writes, m.jobCalls.Load())
	}
}

// The pause is limited: a write that never appears in the cache is repeated. A spec change does not wait for the pause.
func TestPauseAfterWritesEnds(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*memory)
		after  time.Duration
		want   int32
	}{
		"within the pause":    {func(*memory) {}, writePause - 1, 0},
		"after it":            {func(*memory) {}, writePause, 2},
		"with another spec":   {func(m *memory) { m.jobSet.Generation++ }, 0, 2},
		"in the next attempt": {func(m *memory) { m.jobSet.Status.Restarts++ }, 0, 2},
	} {
		m, clock := running(2), testingclock.NewFakePassiveClock(time.Unix(1e9, 0))
		m.jobs = nil
		r := New(Options{Client: m, Live: m, Recorder: silence{}, Clock: clock})
		if _, err := r.Reconcile(t.Context(), m.jobSet.DeepCopy()); err != nil {
			t.Fatal(err)
		}
		m.jobCalls.Store(0)
		c.change(m)
		clock.SetTime(clock.Now().Add(c.after))
		if _, err := r.Reconcile(t.Context(), m.jobSet.DeepCopy()); err != nil || m.jobCalls.Load() != c.want {
			t.Errorf("%s: %d calls, want %d (%v)", name, m.jobCalls.Load(), c.want, err)
		}
	}
}

// Each event for a running Job causes a reconcile, which must not repeat a write that the API server rejects.
func TestRejectedWritesAreNotRepeatedInEveryReconcile(t *testing.T) {
	gk := schema.GroupKind{Group: "batch", Kind: "Job"}
	invalid := apierrors.NewInvalid(gk, "a", nil)
	for name, c := range map[string]struct {
		change func(*memory)
		err    error
		reason string
	}{
		"an invalid Job":             {func(m *memory) { m.jobs = nil }, invalid, jobCreationFailed},
		"a Job that exceeds a quota": {func(m *memory) { m.jobs = nil }, apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "a", errors.New("exceeded quota")), jobCreationFailed},
		"a foreign Job":              {func(m *memory) { m.jobs = nil }, apierrors.NewAlreadyExists(schema.GroupResource{Resource: "jobs"}, "a"), jobCreationFailed},
		"a suspension":               {func(m *memory) { m.jobSet.Spec.Suspend = new(true) }, invalid, jobUpdateFailed},
		"a resumption":               {suspendAll, invalid, jobUpdateFailed},
		"a deletion":                 {func(m *memory) { m.jobSet.Status.Restarts++ }, invalid, jobUpdateFailed},
	} {
		t.Run(name, func(t *testing.T) {
			const size = 20
			m, clock := running(size), testingclock.NewFakePassiveClock(time.Unix(1e9, 0))
			c.change(m)
			m.refuses = c.err
			reported := &counter{}
			r := New(Options{Client: m, Live: m, Recorder: reported, Clock: clock})
			for i, pause := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
				pause *= time.Second
				for _, want := range []int32{size, 0, 0} {
					m.jobCalls.Store(0)
					result, err := r.Reconcile(t.Context(), m.jobSet.DeepCopy())
					if got := m.jobCalls.Load(); err != nil || got != want {
						t.Errorf("try %d: %d calls, want %d (%v)", i, got, want, err)
					}
					if want == 0 && result.RequeueAfter != pause {
						t.Errorf("try %d: again after %s, want %s", i, result.RequeueAfter, pause)
					}
				}
				if reported.of[c.reason] != i+1 {
					t.Errorf("try %d: %d events", i, reported.of[c.reason])
				}
				clock.SetTime(clock.Now().Add(pause))
			}
			m.jobSet.Generation++
			m.jobCalls.Store(0)
			_, _ = r.Reconcile(t.Context(), m.jobSet.DeepCopy())
			if got := m.jobCalls.Load(); got != size {
				t.Errorf("after a spec change: %d calls", got)
			}
		})
	}
}

// counter counts events by reason.
type counter struct{ of map[string]int }

func (c *counter) Eventf(_ runtime.Object, _ runtime.Object, _, reason, _, _ string, _ ...any) {
	if c.of == nil {
		c.of = map[string]int{}
	}
	c.of[reason]++
}

// Several JobSets may intentionally share a subdomain. The Service of the first one is kept, and is not read again in
// every reconcile.
func TestServiceOfAnotherOwnerIsNotReadInEveryReconcile(t *testing.T) {
	m, clock := running(2), testingclock.NewFakePassiveClock(time.Unix(1e9, 0))
	m.service.OwnerReferences, m.refuses = nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: "services"}, "a")
	r := New(Options{Client: m, Live: m, Recorder: silence{}, Clock: clock})
	for i, want := range []int32{1, 0, 0, 1} {
		if i == 3 {
			clock.SetTime(clock.Now().Add(firstRetry))
		}
		m.jobCalls.Store(0)
		result, err := r.Reconcile(t.Context(), m.jobSet.DeepCopy())
		if got := m.jobCalls.Load(); err != nil || got != want {
			t.Errorf("reconcile %d: %d calls, want %d (%v)", i, got, want, err)
		}
		if result.RequeueAfter == 0 {
			t.Errorf("reconcile %d: no requeue", i)
		}
	}
}

// Deleting thousands of Jobs causes thousands of events, and each List call would return all of their pods.
func TestStuckPodsAreListedAtIntervals(t *testing.T) {
	clock := testingclock.NewFakePassiveClock(time.Unix(1e9, 0))
	n := newNotBefore(clock)
	a, b := MakeJobSet("a").Obj(), MakeJobSet("b").Obj()
	waits := func(js *v1alpha2.JobSet, want time.Duration) {
		t.Helper()
		if got, _ := n.wait(js, taskStuckPods); got != want {
			t.Errorf("waits %s, want %s", got, want)
		}
	}
	waits(a, 0)
	n.set(a, taskStuckPods, stuckPodInterval)
	clock.SetTime(clock.Now().Add(stuckPodInterval / 5))
	waits(a, stuckPodInterval-stuckPodInterval/5)
	waits(b, 0)
	clock.SetTime(clock.Now().Add(stuckPodInterval))
	waits(a, 0)
}

// The work queue ignores a requeue time that is returned together with an error.
func TestErrorHasNoRequeueTime(t *testing.T) {
	m := running(2)
	m.jobs, m.refuses = nil, errors.New("the API server is gone")
	r := New(Options{Client: m, Live: m, Recorder: silence{}})
	m.service.OwnerReferences = nil
	r.notBefore.set(m.jobSet, taskService, time.Second) // one step waits, the next one fails
	if result, err := r.Reconcile(t.Context(), m.jobSet.DeepCopy()); err == nil || !result.IsZero() {
		t.Errorf("%+v, %v", result, err)
	}
}

// A feature gate was disabled while JobSets that use it were running. They can still be suspended and completed.
func TestRunningJobSetsEndWithoutTheirFeatureGate(t *testing.T) {
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

// A JobSet with thousands of Jobs is reconciled whenever its Jobs change. A reconcile with nothing to do must not
// allocate memory for each of them (in the upstream controller, the allocations grow quadratically).
func TestReconcileWithoutChangesAllocatesNothingPerJob(t *testing.T) {
	const most = 250.0 // allocations per reconcile, regardless of the number of Jobs
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

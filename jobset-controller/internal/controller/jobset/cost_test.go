package jobset

import (
	"testing"
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

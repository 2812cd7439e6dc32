package jobset

import (
	"testing"
)

// A JobSet of thousands of Jobs is reconciled at news of its Jobs: a pass that finds nothing to do must not allocate for each of
// them (the published controller allocates by their square).
func TestFindingNothingToDoAllocatesNothingForAJob(t *testing.T) {
	const most = 200.0 // for the pass, whatever the number of Jobs
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

package jobset

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// A JobSet of thousands of Jobs is reconciled at each event of each Job: what it costs to find nothing to do must grow with the
// number of Jobs and no faster (the published controller allocates by its square).
func TestFindingNothingToDoAllocatesLittleForEachJob(t *testing.T) {
	const most = 4.0
	for _, size := range []int{500, 5000} {
		js := MakeJobSet("a").Workers(int32(size)).Obj()
		jobs := make([]batchv1.Job, size)
		for i := range jobs {
			jobs[i] = *plan.NewBuilder(js, epoch.First()).Job(0, i)
		}
		got := testing.AllocsPerRun(3, func() {
			s := &scope{jobSet: js, epoch: epoch.First(), jobs: policy.SortJobs(jobs, &js.Status, epoch.First())}
			s.decide()
			if len(s.missingJobs())+len(s.jobsToResume()) > 0 || s.decides() {
				t.Fatal("there is something to do")
			}
		}) / float64(size)
		if got > most {
			t.Errorf("%d jobs: %.1f allocations for each", size, got)
		}
	}
}

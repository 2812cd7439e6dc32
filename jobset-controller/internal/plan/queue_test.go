package plan

import (
	"testing"

	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

func TestJobsWaitInTheStageQueue(t *testing.T) {
	label := func(key, value string) func(*v1alpha2.JobSet) {
		return func(js *v1alpha2.JobSet) {
			if js.Labels == nil {
				js.Labels = map[string]string{}
			}
			js.Labels[key] = value
		}
	}
	asks := func() *JobSet { return MakeJobSet("a").Workers(1).Annotation(v1alpha2.StageQueueKey, "night") }
	for name, c := range map[string]struct {
		jobSet       *JobSet
		queue, class string
	}{
		"no queue is requested":                 {jobSet: MakeJobSet("a").Workers(1)},
		"each Job waits individually":           {jobSet: asks(), queue: "night"},
		"with the priority of the JobSet":       {jobSet: asks().Change(label(v1alpha2.PriorityClassLabel, "high")), queue: "night", class: "high"},
		"the JobSet waits as a whole":           {jobSet: asks().Change(label(v1alpha2.QueueNameLabel, "day"))},
		"a priority without a queue is ignored": {jobSet: MakeJobSet("a").Workers(1).Change(label(v1alpha2.PriorityClassLabel, "high"))},
	} {
		t.Run(name, func(t *testing.T) {
			job := NewBuilder(c.jobSet.Obj(), epoch.First()).Job(0, 0)
			if job.Labels[v1alpha2.QueueNameLabel] != c.queue || job.Labels[v1alpha2.PriorityClassLabel] != c.class {
				t.Errorf("labels %v", job.Labels)
			}
			if got := ptr.Deref(job.Spec.Suspend, false); got != (c.queue != "") {
				t.Errorf("suspend is %v", got)
			}
			if _, handed := job.Spec.Template.Labels[v1alpha2.QueueNameLabel]; handed {
				t.Error("the pods are queued too")
			}
		})
	}
}

package jobset

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// delays is a queue that only records the delays of added requests.
type delays struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	after map[string]time.Duration
}

func (d *delays) AddAfter(r reconcile.Request, after time.Duration) { d.after[r.String()] = after }

func TestJobEventsAreDebouncedUnlessTheJobFails(t *testing.T) {
	in := func(condition batchv1.JobConditionType) func(*batchv1.Job) {
		return func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{{Type: condition, Status: corev1.ConditionTrue}}
		}
	}
	ready := func(j *batchv1.Job) { j.Status.Ready = new(int32(1)) }
	for name, c := range map[string]struct {
		jobs   int32
		change func(*batchv1.Job)
		want   time.Duration
	}{
		"one of few becomes ready":           {10, ready, 21 * time.Millisecond},
		"one of a thousand becomes ready":    {1000, ready, 120 * time.Millisecond},
		"one of 50,000 becomes ready":        {50000, ready, 500 * time.Millisecond},
		"one of a thousand completes":        {1000, in(batchv1.JobComplete), 120 * time.Millisecond},
		"one of a thousand fails":            {1000, in(batchv1.JobFailed), 0},
		"one of a thousand is about to fail": {1000, in(batchv1.JobFailureTarget), 0},
		"a label that is not a number":       {1000, func(j *batchv1.Job) { j.Labels[v1alpha2.GlobalReplicasKey] = "many" }, 20 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			before := plan.NewBuilder(MakeJobSet("a").Workers(c.jobs).Obj(), epoch.First()).Job(0, 0)
			after := before.DeepCopy()
			c.change(after)
			q := &delays{after: map[string]time.Duration{}}
			jobEvents().Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, q)
			if got, written := q.after["default/a"]; !written || got != c.want {
				t.Errorf("enqueued %v after %s, want %s", written, got, c.want)
			}
		})
	}
	foreign := MakeJob("a", "w").Obj()
	q := &delays{after: map[string]time.Duration{}}
	jobEvents().Create(t.Context(), event.CreateEvent{Object: foreign}, q)
	if len(q.after) > 0 {
		t.Errorf("a Job without a JobSet enqueues %v", q.after)
	}
}

func TestChangesOfCountersAreIgnored(t *testing.T) {
	status := func(change func(*v1alpha2.ReplicatedJobStatus)) func(*v1alpha2.JobSet) {
		return func(js *v1alpha2.JobSet) { change(&js.Status.ReplicatedJobsStatus[0]) }
	}
	for name, c := range map[string]struct {
		change func(*v1alpha2.JobSet)
		same   bool // whether the resource version stays the same
		want   bool
	}{
		"more Jobs are ready":                 {change: status(func(s *v1alpha2.ReplicatedJobStatus) { s.Ready, s.Active = 2, 3 })},
		"nothing, in a resync of the cache":   {change: func(*v1alpha2.JobSet) {}, same: true, want: true},
		"a restart":                           {change: func(js *v1alpha2.JobSet) { js.Status.Restarts++ }, want: true},
		"a restart of one Job":                {change: status(func(s *v1alpha2.ReplicatedJobStatus) { s.JobRestarts = []int32{1} }), want: true},
		"the end":                             {change: func(js *v1alpha2.JobSet) { js.Status.TerminalState = "Failed" }, want: true},
		"another spec":                        {change: func(js *v1alpha2.JobSet) { js.Generation++ }, want: true},
		"an annotation":                       {change: func(js *v1alpha2.JobSet) { js.Annotations = map[string]string{"a": "b"} }, want: true},
		"a label":                             {change: func(js *v1alpha2.JobSet) { js.Labels = map[string]string{"a": "b"} }, want: true},
		"another object with the same name":   {change: func(js *v1alpha2.JobSet) { js.UID = "other" }, want: true},
		"the status of another replicatedJob": {change: status(func(s *v1alpha2.ReplicatedJobStatus) { s.Name = "x" }), want: true},
	} {
		t.Run(name, func(t *testing.T) {
			before := MakeJobSet("a").Workers(3).Obj()
			before.Status.ReplicatedJobsStatus, before.ResourceVersion = []v1alpha2.ReplicatedJobStatus{{Name: "workers", Ready: 1}}, "1"
			after := before.DeepCopy()
			c.change(after)
			if !c.same {
				after.ResourceVersion = "2"
			}
			if got := jobSetChanges().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != c.want {
				t.Errorf("the update triggers a reconcile: %v", got)
			}
		})
	}
}

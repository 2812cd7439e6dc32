package jobset

import (
	"context"
	"maps"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
)

const (
	// debouncePerJob is how long the event of a Job waits for others, for each Job of the JobSet. A reconcile takes time for each
	// Job, and there are as many events as Jobs: n Jobs that become ready would otherwise cost n reconciles of n Jobs.
	debouncePerJob = 100 * time.Microsecond
	// minDebounce is enough for the few Jobs of a small JobSet, which change within moments of each other: one reconcile and one
	// write.
	minDebounce = 20 * time.Millisecond
	// maxDebounce is the longest delay of an event.
	maxDebounce = 500 * time.Millisecond
)

// debounce returns how long the event of a Job may wait for others of the same JobSet: 20 ms, plus 0.1 ms for each of its Jobs.
func debounce(job client.Object) time.Duration {
	jobs, err := strconv.ParseInt(job.GetLabels()[v1alpha2.GlobalReplicasKey], 10, 32)
	if err != nil || jobs < 0 {
		return minDebounce
	}
	return min(minDebounce+time.Duration(jobs)*debouncePerJob, maxDebounce)
}

// jobEvents enqueues the JobSets of Jobs: immediately if a Job fails, otherwise debounced.
func jobEvents() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { enqueue(q, e.Object, debounce(e.Object)) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { enqueue(q, e.Object, debounce(e.Object)) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			if fails(e.ObjectNew) && !fails(e.ObjectOld) {
				enqueue(q, e.ObjectNew, 0)
				return
			}
			enqueue(q, e.ObjectNew, debounce(e.ObjectNew))
		},
	}
}

func fails(object client.Object) bool {
	job, ok := object.(*batchv1.Job)
	return ok && policy.FailureOf(job) != nil
}

func enqueue(q workqueue.TypedRateLimitingInterface[reconcile.Request], object client.Object, after time.Duration) {
	if len(controllingJobSet(object)) == 0 {
		return
	}
	q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{
		Namespace: object.GetNamespace(), Name: metav1.GetControllerOfNoCopy(object).Name,
	}}, after)
}

// jobSetChanges drops the events of our own status writes, in which only the numbers of Jobs by state have changed. They are
// recounted whenever a Job changes.
func jobSetChanges() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, is := e.ObjectOld.(*v1alpha2.JobSet)
		after, are := e.ObjectNew.(*v1alpha2.JobSet)
		return !is || !are || !onlyCountersDiffer(before, after)
	}}
}

func onlyCountersDiffer(a, b *v1alpha2.JobSet) bool {
	return a.ResourceVersion != b.ResourceVersion && // equal versions: a periodic resync of the cache
		a.UID == b.UID && a.Generation == b.Generation && a.DeletionTimestamp.Equal(b.DeletionTimestamp) &&
		maps.Equal(a.Annotations, b.Annotations) && maps.Equal(a.Labels, b.Labels) &&
		equality.Semantic.DeepEqual(withoutCounters(&a.Status), withoutCounters(&b.Status))
}

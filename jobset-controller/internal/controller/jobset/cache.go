package jobset

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/bootstrap/podcache"
	"github.com/holdfast-project/holdfast/shared/bootstrap/requeue"
)

const (
	// ownerIndex finds Jobs by the UID of the JobSet that controls them.
	ownerIndex = "holdfast.controller-uid"
	// podIndex finds pods by the UID of the JobSet that they claim to belong to. Ownership is determined by their Jobs.
	podIndex = "holdfast.jobset-uid"
)

// CacheOptions limits the cache to the Jobs and Services of JobSets and to exclusively placed pods, and keeps only the
// fields that the manager uses. The API server filters by label, and the transforms strip the objects. Only the
// InPlaceRestart feature needs all pods of JobSets, because each of them reports its attempt.
//
// A stripped object must never be sent back as a whole: every write is either a patch with only the differences, or
// applies individual fields.
func CacheOptions(features policy.Features) cache.Options {
	pods := v1alpha2.PriorityKey
	if features.InPlaceRestart {
		pods = v1alpha2.JobSetNameKey
	}
	return cache.Options{
		DefaultTransform: stripAny,
		ByObject: map[client.Object]cache.ByObject{
			&batchv1.Job{}:    {Label: podcache.HasLabel(v1alpha2.JobSetNameKey), Transform: podcache.Each(stripJob)},
			&corev1.Service{}: {Label: podcache.HasLabel(v1alpha2.JobSetNameKey), Transform: podcache.Each(stripService)},
			&corev1.Pod{}:     {Label: podcache.HasLabel(pods), Transform: podcache.Each(stripPod)},
		},
	}
}

func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	uid := func(pod client.Object) []string { return []string{pod.GetLabels()[v1alpha2.JobSetUIDKey]} }
	return errors.Join(
		indexer.IndexField(ctx, &batchv1.Job{}, ownerIndex, controllingJobSet),
		indexer.IndexField(ctx, &corev1.Pod{}, podIndex, uid),
	)
}

var owners = v1alpha2.GroupVersion.WithKind("JobSet")

func controllingJobSet(object client.Object) []string {
	if owner := requeue.Controller(object, owners); owner != nil {
		return []string{string(owner.UID)}
	}
	return nil
}

// These functions keep only the fields that this program uses, because thousands of objects are held in memory. They
// receive each object before it is added to the cache, so they may modify it.

// stripAny removes managed fields and kubectl's last applied configuration from JobSets and from the metadata of nodes.
func stripAny(object any) (any, error) {
	if meta, ok := object.(metav1.Object); ok {
		stripMeta(meta)
	}
	return object, nil
}

// stripJob removes the pod spec except for the fields that a queue may change while the Job is suspended. These fields
// are compared when the Job is resumed.
func stripJob(job *batchv1.Job) *batchv1.Job {
	stripMeta(job)
	pod := job.Spec.Template.Spec
	job.Spec.Template.Spec = corev1.PodSpec{
		NodeSelector: pod.NodeSelector, Tolerations: pod.Tolerations, SchedulingGates: pod.SchedulingGates,
	}
	job.Spec.PodFailurePolicy, job.Spec.SuccessPolicy = nil, nil
	job.Status.UncountedTerminatedPods = nil
	return job
}

// stripService keeps only the name and the owner.
func stripService(service *corev1.Service) *corev1.Service {
	stripMeta(service)
	service.Spec, service.Status = corev1.ServiceSpec{}, corev1.ServiceStatus{}
	return service
}

// stripPod keeps the fields used for exclusive placement (the owner of the pod, its node, and its scheduling
// constraints) and for in-place attempts (how often containers were restarted).
func stripPod(pod *corev1.Pod) *corev1.Pod {
	stripMeta(pod)
	pod.Spec = corev1.PodSpec{
		NodeName: pod.Spec.NodeName, NodeSelector: pod.Spec.NodeSelector, SchedulingGates: pod.Spec.SchedulingGates,
	}
	pod.Status = corev1.PodStatus{
		Phase:                 pod.Status.Phase,
		InitContainerStatuses: restarted(pod.Status.InitContainerStatuses), ContainerStatuses: restarted(pod.Status.ContainerStatuses),
	}
	return pod
}

func restarted(statuses []corev1.ContainerStatus) (counts []corev1.ContainerStatus) {
	for i := range statuses {
		if n := statuses[i].RestartCount; n > 0 {
			counts = append(counts, corev1.ContainerStatus{RestartCount: n})
		}
	}
	return counts
}

func stripMeta(meta metav1.Object) {
	meta.SetManagedFields(nil)
	delete(meta.GetAnnotations(), corev1.LastAppliedConfigAnnotation)
}

const (
	// debouncePerJob, multiplied by the number of Jobs in the JobSet, is how long an event for a Job waits for further
	// events. A reconcile takes time proportional to the number of Jobs, and each Job causes an event. Without
	// debouncing, n Jobs becoming ready would cause n reconciles of n Jobs each.
	debouncePerJob = 100 * time.Microsecond
	// minDebounce is long enough for a small JobSet, whose few Jobs change almost simultaneously, so that one reconcile
	// and one write cover all of them.
	minDebounce = 20 * time.Millisecond
	// maxDebounce is the longest time that an event is delayed.
	maxDebounce = 500 * time.Millisecond
)

// debounce returns how long an event for a Job may wait for events for other Jobs of the same JobSet: 20 ms plus 0.1 ms
// per Job.
func debounce(job client.Object) time.Duration {
	jobs, err := strconv.ParseInt(job.GetLabels()[v1alpha2.GlobalReplicasKey], 10, 32)
	if err != nil || jobs < 0 {
		return minDebounce
	}
	return min(minDebounce+time.Duration(jobs)*debouncePerJob, maxDebounce)
}

// jobEvents enqueues the JobSets of Jobs: immediately if a Job fails, otherwise debounced.
func jobEvents() handler.EventHandler {
	return requeue.OnEvents(func(q requeue.Queue, before, job client.Object) {
		wait := debounce(job)
		if before != nil && fails(job) && !fails(before) {
			wait = 0
		}
		requeue.AddController(q, job, owners, wait)
	})
}

func fails(object client.Object) bool {
	job, ok := object.(*batchv1.Job)
	return ok && policy.FailureOf(job) != nil
}

// podEvents enqueues the JobSet that a pod claims to belong to.
func podEvents() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, pod client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: pod.GetLabels()[v1alpha2.JobSetNameKey]}}}
	})
}

// jobSetChanges drops the events caused by our own status writes in which only the numbers of Jobs by state have
// changed. They are recounted anyway whenever a Job changes.
func jobSetChanges() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, is := e.ObjectOld.(*v1alpha2.JobSet)
		after, are := e.ObjectNew.(*v1alpha2.JobSet)
		return !is || !are || !onlyCountersDiffer(before, after)
	}}
}

func onlyCountersDiffer(a, b *v1alpha2.JobSet) bool {
	return a.ResourceVersion != b.ResourceVersion && // equal versions mean a periodic resync of the cache
		a.UID == b.UID && a.Generation == b.Generation && a.DeletionTimestamp.Equal(b.DeletionTimestamp) &&
		maps.Equal(a.Annotations, b.Annotations) && maps.Equal(a.Labels, b.Labels) &&
		equality.Semantic.DeepEqual(withoutCounters(&a.Status), withoutCounters(&b.Status))
}

package orchestrator

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/ladder"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// PodsOfJobSet is the cache index that finds the pods of a JobSet by its UID.
const PodsOfJobSet = "jobset-uid"

// IndexByJobSet is the index function of PodsOfJobSet.
func IndexByJobSet(obj client.Object) []string {
	return []string{string(jobSetOf(obj))}
}

func jobSetOf(pod client.Object) types.UID {
	return types.UID(pod.GetAnnotations()[v1alpha2.JobSetUIDKey])
}

// podAnnotations are those that the orchestrator reads.
var podAnnotations = []string{
	v1alpha2.JobSetNameKey, v1alpha2.JobSetUIDKey, v1alpha2.ReplicatedJobNameKey, v1alpha2.JobIndexKey,
	batchv1.JobCompletionIndexAnnotation, epoch.Annotation,
}

// StripPod keeps of a pod what the orchestrator reads, so that the cache stays small with many pods.
func StripPod(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	annotations := map[string]string{}
	for _, key := range podAnnotations {
		if value, found := pod.Annotations[key]; found {
			annotations[key] = value
		}
	}
	stripped := &corev1.Pod{
		TypeMeta: pod.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
			CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp,
			DeletionGracePeriodSeconds: pod.DeletionGracePeriodSeconds, Annotations: annotations,
		},
		Spec:   corev1.PodSpec{NodeName: pod.Spec.NodeName},
		Status: corev1.PodStatus{Phase: pod.Status.Phase},
	}
	for _, c := range pod.Status.ContainerStatuses {
		stripped.Status.ContainerStatuses = append(stripped.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, State: c.State, LastTerminationState: c.LastTerminationState,
		})
	}
	for _, c := range pod.Status.InitContainerStatuses {
		if c.State.Running != nil {
			stripped.Status.InitContainerStatuses = append(stripped.Status.InitContainerStatuses, corev1.ContainerStatus{Name: c.Name})
		}
	}
	return stripped, nil
}

// gather is how long the losses of one moment are waited for, so that a JobSet that loses many pods is looked at once.
const gather = 100 * time.Millisecond

// podHandler notes pods that are lost, and has the leader look at those that are going, or wait in a restart for the kubelet's
// back-off, O(1) for each event. Other changes of pods wake nobody.
func (r *Reconciler) podHandler() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { r.sawPod(e.Object, false, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) { r.sawPod(e.ObjectNew, false, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { r.sawPod(e.Object, true, q) },
	}
}

func (r *Reconciler) sawPod(obj client.Object, gone bool, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return
	}
	uid := jobSetOf(pod)
	if uid == "" {
		return
	}
	lost := ladder.Lost(pod) || (gone && ladder.LostWhenGone(pod))
	// A pod that succeeds in the middle of a restart was ordered to stop, and its slot is waited for.
	needed := pod.Status.Phase == corev1.PodSucceeded && r.rounds.restarting(uid)
	patience, waits := r.nudges.saw(uid, pod, gone, r.Clock.Now())
	waits = waits && r.rounds.restarting(uid)
	when := gather
	switch {
	case lost || needed || !pod.DeletionTimestamp.IsZero():
	case waits: // most are started before the kubelet's time is over, and one look then is for all of them
		when = max(gather, patience)
	default:
		return
	}
	key := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Annotations[v1alpha2.JobSetNameKey]}
	if lost || needed {
		r.losses.note(key, loss{pod: pod, evict: lost})
	}
	q.AddAfter(reconcile.Request{NamespacedName: key}, when)
}

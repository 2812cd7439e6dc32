package orchestrator

import (
	"context"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/shared/bootstrap/requeue"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/forming"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
)

var podAnnotations = []string{
	v1alpha2.JobSetNameKey, v1alpha2.JobSetUIDKey, v1alpha2.ReplicatedJobNameKey, v1alpha2.JobIndexKey,
	batchv1.JobCompletionIndexAnnotation, epoch.Annotation, v1alpha2.LedByKey, v1alpha2.RefusedKey, v1alpha2.SlotKey,
}

// TrimPod keeps the fields of a pod that the orchestrator uses, so that the cache stays small even with many pods. It
// keeps all fields of a pod that owns a group. Package podcache drops the managed fields and the grace period of all
// pods.
func TrimPod(pod *corev1.Pod) *corev1.Pod {
	if isLeader(pod) {
		return pod
	}
	annotations := map[string]string{}
	for _, key := range podAnnotations {
		if value, found := pod.Annotations[key]; found {
			annotations[key] = value
		}
	}
	trimmed := &corev1.Pod{
		TypeMeta: pod.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
			CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp,
			DeletionGracePeriodSeconds: pod.DeletionGracePeriodSeconds, Annotations: annotations,
		},
		Spec:   corev1.PodSpec{NodeName: pod.Spec.NodeName},
		Status: corev1.PodStatus{Phase: pod.Status.Phase, Reason: pod.Status.Reason},
	}
	if uid := controllerOf(pod); uid != "" {
		trimmed.OwnerReferences = []metav1.OwnerReference{{UID: uid, Controller: isTrue}}
	}
	if kind := pod.Labels[v1alpha2.GroupKindKey]; kind != "" {
		trimmed.Labels = map[string]string{v1alpha2.GroupKindKey: kind}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			trimmed.Status.Conditions = []corev1.PodCondition{c}
		}
	}
	for _, c := range pod.Status.ContainerStatuses {
		trimmed.Status.ContainerStatuses = append(trimmed.Status.ContainerStatuses, trimContainer(c))
	}
	for _, c := range pod.Status.InitContainerStatuses {
		if runsOrFails(c) {
			trimmed.Status.InitContainerStatuses = append(trimmed.Status.InitContainerStatuses, trimContainer(c))
		}
	}
	return trimmed
}

func trimContainer(c corev1.ContainerStatus) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: c.Name, State: c.State, LastTerminationState: c.LastTerminationState, RestartCount: c.RestartCount}
}

var isTrue = ptr.To(true) // shared by all pods

// runsOrFails reports whether a container is running or has failed. It returns false for init containers that have
// succeeded or not started yet.
func runsOrFails(c corev1.ContainerStatus) bool {
	switch {
	case c.State.Terminated != nil:
		return c.State.Terminated.ExitCode != 0
	case c.State.Waiting != nil:
		return c.State.Waiting.Reason != "PodInitializing" || c.RestartCount > 0
	}
	return c.State.Running != nil
}

// debounce is how long the controller waits for further losses, so that the loss of many pods of a JobSet causes a
// single reconcile.
const debounce = 100 * time.Millisecond

// podHandler records lost pods, and enqueues the JobSet of a pod that is lost or terminating, in O(1) per event. It
// ignores all other pod changes.
func (r *Reconciler) podHandler() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q requeue.Queue) {
			r.sawPod(e.Object, false, q)
			r.sawMember(e.Object, q)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q requeue.Queue) { r.sawPod(e.ObjectNew, false, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q requeue.Queue) { r.sawPod(e.Object, true, q) },
	}
}

func (r *Reconciler) sawPod(obj client.Object, gone bool, q requeue.Queue) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return
	}
	uid, kind := ownerOfPod(pod)
	if uid == "" || kind != r.Kind.GVK.Kind {
		return
	}
	plain := podOf(pod)
	state := r.Groups.get(uid)
	lost := plain.Lost() || (gone && plain.LostWhenGone())
	// A pod that succeeds during a restart did so because it was stopped, and the restart needs its slot.
	needed := plain.Phase == workload.Succeeded && state != nil && state.restarting.Load()
	switch {
	case lost || needed || plain.Deleting:
	case pod.Annotations[v1alpha2.RefusedKey] != "": // reported in the condition of its group
	case state != nil && state.restarting.Load() && plain.Phase == workload.Running && isSpare(plain): // it may be assigned a slot
	case state != nil && state.forms.Load():
		if _, failed := forming.ExitOf(forming.Slot{Pod: plain}, time.Time{}); !failed {
			return
		}
	default:
		return
	}
	key := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Annotations[v1alpha2.JobSetNameKey]}
	if lost || needed {
		r.Groups.note(ownerKey{r.Kind.Controller, key}, uid, leader.Loss{Pod: plain, Gap: lost})
	}
	q.AddAfter(reconcile.Request{NamespacedName: key}, debounce)
}

// isSpare reports whether a pod was created to wait for a slot.
func isSpare(pod *workload.Pod) bool {
	return pod.Waits || strings.Contains(pod.Slot, "-"+coordination.Spares+"-")
}

// sawMember enqueues the group of a pod if this process does not know the group: its pod with index 0 may have been
// deleted while no orchestrator was running.
func (r *Reconciler) sawMember(pod client.Object, q requeue.Queue) {
	uid, kind := ownerOfPod(pod)
	if kind != inplace.PodKind || kind != r.Kind.GVK.Kind || pod.GetAnnotations()[v1alpha2.LedByKey] != r.Kind.Installation || r.Groups.get(uid) != nil {
		return
	}
	key := types.NamespacedName{Namespace: pod.GetNamespace(), Name: pod.GetAnnotations()[v1alpha2.JobSetNameKey]}
	q.AddAfter(reconcile.Request{NamespacedName: key}, debounce)
}

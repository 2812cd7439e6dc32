package orchestrator

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/owners"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
)

func jobOf(owner string, job *batchv1.Job, current bool) *workload.Job {
	spec, pod := &job.Spec, &job.Spec.Template.Spec
	j := &workload.Job{
		Name: job.Name, UID: string(job.UID), Stage: owner + "-" + job.Labels[v1alpha2.ReplicatedJobNameKey],
		Generation: epoch.OfJob(job.Annotations), Current: current, Deleting: !job.DeletionTimestamp.IsZero(),
		Over: isJobOver(job), LedBy: job.Annotations[v1alpha2.LedByKey], Suspended: ptr.Deref(spec.Suspend, false), Created: job.CreationTimestamp.Time, Pods: int64(ptr.Deref(spec.Parallelism, 1)),
		Failures: job.Status.Failed, Spares: policy.IsSpares(job), Sidecar: inplace.HasSidecar(pod), Findable: spec.Template.Labels[podsKey(job)] != "",
		Worker: inplace.WorkerContainer(pod), Store: inplace.StoreAddress(pod),
		Reserved: isReserved(job), MadePods: madePods(job), Indexes: int(ptr.Deref(spec.Completions, 0)),
		Completed: inplace.Indexes(job.Status.CompletedIndexes), Failed: inplace.Indexes(ptr.Deref(job.Status.FailedIndexes, "")),
	}
	if at := job.Status.StartTime; at != nil {
		j.Started = at.Time
	}
	return j
}

// podsKey returns the label that selects the pods of a Job. For a Job without a JobSet, that is the Job controller's
// label.
func podsKey(job *batchv1.Job) string {
	for _, key := range []string{v1alpha2.JobKey, v1alpha2.PodGroupKey} {
		if job.Spec.Template.Labels[key] != "" {
			return key
		}
	}
	return batchv1.ControllerUidLabel
}

func podIndexKey(job *batchv1.Job) string {
	if podsKey(job) == v1alpha2.PodGroupKey {
		return v1alpha2.PodGroupIndexKey
	}
	return batchv1.JobCompletionIndexAnnotation
}

func podSelector(job *batchv1.Job, indexes []string) (labels.Selector, error) {
	among, err := labels.NewRequirement(podIndexKey(job), selection.In, indexes)
	if err != nil {
		return nil, err
	}
	key := podsKey(job)
	return labels.SelectorFromSet(labels.Set{key: job.Spec.Template.Labels[key]}).Add(*among), nil
}

// over lists the conditions of a Job that creates no more pods.
var over = []batchv1.JobConditionType{
	batchv1.JobComplete, batchv1.JobFailed, batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget,
}

func isJobOver(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == corev1.ConditionTrue && slices.Contains(over, c.Type)
	})
}

// isReserved reports whether only the Job's own controller may create its pods. That is the case if another controller
// manages the Job, if its pods have no indexes, or if failures are counted per index. The Job controller keeps that
// count in a pod annotation, which it copies to the replacement.
func isReserved(job *batchv1.Job) bool {
	spec := &job.Spec
	return ptr.Deref(spec.ManagedBy, batchv1.JobControllerName) != batchv1.JobControllerName ||
		ptr.Deref(spec.CompletionMode, batchv1.NonIndexedCompletion) != batchv1.IndexedCompletion || spec.BackoffLimitPerIndex != nil
}

// madePods reports whether a Job's controller has already created all of its pods once. It creates the pods of a new
// Job immediately, and a pod created by another program would be one too many. Later, the status of the Job accounts
// for each missing active pod: as failed, as terminating, or as a failure that is not counted yet.
func madePods(job *batchv1.Job) bool {
	s := &job.Status
	counting := s.UncountedTerminatedPods != nil && len(s.UncountedTerminatedPods.Failed) > 0
	wanted := min(ptr.Deref(job.Spec.Completions, 0)-s.Succeeded, ptr.Deref(job.Spec.Parallelism, 1))
	return s.Failed > 0 || ptr.Deref(s.Terminating, 0) > 0 || counting || s.Active >= wanted
}

func podOf(pod *corev1.Pod) *workload.Pod {
	p := &workload.Pod{
		Name: pod.Name, UID: string(pod.UID), Slot: inplace.SlotOf(pod), Job: string(jobOfPod(pod)), Generation: epoch.OfJob(pod.Annotations),
		Node: pod.Spec.NodeName, Version: pod.ResourceVersion, Created: pod.CreationTimestamp.Time,
		Phase: workload.Phase(pod.Status.Phase), Reason: pod.Status.Reason, Scheduling: schedulingOf(pod),
		Init: containersOf(pod.Status.InitContainerStatuses), Containers: containersOf(pod.Status.ContainerStatuses),
	}
	if slot := pod.Annotations[v1alpha2.SlotKey]; slot == v1alpha2.SlotWaits {
		p.Waits = true
	} else {
		p.Given = slot
	}
	if at := pod.DeletionTimestamp; !at.IsZero() {
		grace := pod.DeletionGracePeriodSeconds
		p.Deleting, p.Due = true, at.Time
		p.Asked = at.Add(-time.Duration(ptr.Deref(grace, 0)) * time.Second)
		p.Forced = grace != nil && *grace == 0
	}
	return p
}

func schedulingOf(pod *corev1.Pod) *workload.Scheduling {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodScheduled {
			return &workload.Scheduling{
				Done: c.Status == corev1.ConditionTrue, At: c.LastTransitionTime.Time, Gated: c.Reason == corev1.PodReasonSchedulingGated, Message: c.Message,
			}
		}
	}
	return nil
}

func containersOf(list []corev1.ContainerStatus) []workload.Container {
	containers := make([]workload.Container, len(list))
	for i := range list {
		c := &list[i]
		one := workload.Container{
			Name: c.Name, Restarts: c.RestartCount, Exited: exitOf(c.State.Terminated), Last: exitOf(c.LastTerminationState.Terminated),
		}
		if c.State.Running != nil {
			one.Running, one.Since = true, c.State.Running.StartedAt.Time
		}
		if w := c.State.Waiting; w != nil {
			one.Waiting, one.Reason, one.Message = true, w.Reason, w.Message
		}
		containers[i] = one
	}
	return containers
}

func exitOf(t *corev1.ContainerStateTerminated) *workload.Exit {
	if t == nil {
		return nil
	}
	return &workload.Exit{Code: t.ExitCode, Message: t.Message, At: t.FinishedAt.Time}
}

// jobOfPod returns the UID of the pod's Job. In a group declared by its pods, the pod with index 0 takes the place of
// the Job.
func jobOfPod(pod *corev1.Pod) types.UID {
	if pod.Labels[v1alpha2.GroupKindKey] == inplace.PodKind {
		return types.UID(inplace.LeaderOf(pod))
	}
	return controllerOf(pod)
}

// controllerOf returns the UID of an object's controller. Annotations cannot be trusted for this, because anyone who
// creates pods can set them.
func controllerOf(obj metav1.Object) types.UID {
	if owner := metav1.GetControllerOf(obj); owner != nil {
		return owner.UID
	}
	return ""
}

// isLeader reports whether an object is the pod with index 0 of a group.
func isLeader(obj client.Object) bool {
	return obj.GetLabels()[v1alpha2.GroupKindKey] == inplace.PodKind && inplace.LeaderOf(obj) == string(obj.GetUID())
}

// PodsOfGroup is the cache index that finds the pods of a group by the UID of its owner.
const PodsOfGroup = "group-uid"

func IndexByGroup(obj client.Object) []string {
	uid, kind := ownerOfPod(obj)
	if kind == inplace.PodKind {
		return []string{string(uid), membersOf(obj.GetAnnotations()[v1alpha2.JobSetNameKey])}
	}
	return []string{string(uid)}
}

// membersOf returns the key in the PodsOfGroup index for the pods of a group, given the name of the pod with index 0,
// regardless of its UID.
func membersOf(leader string) string { return "of " + leader }

// ownerOfPod returns the UID and the kind of the object that owns the pod's group. The UID is "" if the pod has no
// group. The owner is the JobSet or, in a group without a JobSet, the Job or the pod with index 0.
func ownerOfPod(pod client.Object) (uid types.UID, kind string) {
	annotations := pod.GetAnnotations()
	switch {
	case pod.GetLabels()[v1alpha2.GroupKindKey] == inplace.PodKind:
		return types.UID(inplace.LeaderOf(pod)), inplace.PodKind
	case annotations[v1alpha2.JobSetUIDKey] != "" || annotations[v1alpha2.JobSetNameKey] == "":
		return types.UID(annotations[v1alpha2.JobSetUIDKey]), owners.JobSet.Kind
	}
	return controllerOf(pod), inplace.JobKind
}

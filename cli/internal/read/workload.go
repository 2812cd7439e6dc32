package read

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/timeline"
)

type Workload struct {
	// Objects are ordered from the root down; there is at least one.
	Objects []*unstructured.Unstructured
	Pods    []corev1.Pod
	Events  []corev1.Event
	// Forbidden lists missing permissions.
	Forbidden Forbidden
}

// Root returns the topmost known object.
func (w *Workload) Root() *unstructured.Unstructured { return w.Objects[0] }

// Name returns KIND/NAME of the root.
func (w *Workload) Name() string { return w.Root().GetKind() + "/" + w.Root().GetName() }

func (w *Workload) Timeline() timeline.Workload {
	var t timeline.Workload
	for _, o := range w.Objects {
		t.Objects = append(t.Objects, decode(o))
	}
	for i := range w.Events {
		t.Events = append(t.Events, decodeEvent(&w.Events[i]))
	}
	return t
}

// concerns reports whether an event is about this workload, rather than an earlier one of the same name. An event about the root must have
// its UID. Other objects may have been removed by a reset, so their events must be newer than the root.
func (w *Workload) concerns(e *corev1.Event) bool {
	root := w.Root()
	if about := e.InvolvedObject; about.UID != "" && about.Kind == root.GetKind() && about.Name == root.GetName() {
		return about.UID == root.GetUID()
	}
	return !EventTime(e).Before(root.GetCreationTimestamp().Time)
}

// objectNames returns the kind and name of all objects, including those that a reset has removed, for finding their events.
func (w *Workload) objectNames() [][2]string {
	var list [][2]string
	add := func(kind, name string) {
		if key := [2]string{kind, name}; kind != "" && name != "" && !slices.Contains(list, key) {
			list = append(list, key)
		}
	}
	for _, o := range w.Objects {
		add(o.GetKind(), o.GetName())
	}
	if w.Root().GroupVersionKind().Group == appWrapperGroup {
		components, _, _ := unstructured.NestedSlice(w.Root().Object, "status", "componentStatus")
		for _, c := range components {
			if fields, ok := c.(map[string]any); ok {
				kind, _, _ := unstructured.NestedString(fields, "kind")
				name, _, _ := unstructured.NestedString(fields, "name")
				add(kind, name)
			}
		}
	}
	return list
}

// Labels on the pods of an ElasticJob.
const (
	replicaTypeLabel  = "replica-type"
	replicaIndexLabel = "replica-index"
	replicaTypeWorker = "worker"
)

// Workers returns the pods that do the work. All rigid pods are required. Whether there are enough elastic pods is up to their ElasticJob.
// The rendezvous server, spares, workers that are no longer replaced, and failed pods that have been replaced are excluded.
func (w *Workload) Workers() (rigid, elastic []corev1.Pod) {
	for i := range w.Pods {
		pod := &w.Pods[i]
		switch job := w.elasticJobOf(pod); {
		case isSpare(pod):
		case job == nil:
			rigid = append(rigid, *pod)
		case wanted(pod, job):
			elastic = append(elastic, *pod)
		}
	}
	return withoutReplaced(rigid), elastic
}

// Spares returns the pods waiting to take over the slot of a lost pod.
func (w *Workload) Spares() []corev1.Pod {
	return withoutReplaced(slices.DeleteFunc(slices.Clone(w.Pods), func(pod corev1.Pod) bool { return !isSpare(&pod) }))
}

// Annotations on pods of JobSets.
const (
	jobIndexKey = "jobset.sigs.k8s.io/job-index"
	slotKey     = "holdfast.dev/slot"
	waits       = "-"
)

// isSpare reports whether a pod has no slot. Once a spare is assigned a slot, it is a worker, and the next pod created for that slot is a
// spare.
func isSpare(pod *corev1.Pod) bool {
	slot := pod.Annotations[slotKey]
	return slot == waits || slot == "" && pod.Annotations[jobIndexKey] == coordination.Spares
}

// elasticJobOf returns the ElasticJob that controls the pod, or nil. UIDs must match.
func (w *Workload) elasticJobOf(pod *corev1.Pod) *unstructured.Unstructured {
	for _, o := range w.Objects {
		if o.GroupVersionKind().Group == elasticGroup && metav1.IsControlledBy(pod, o) {
			return o
		}
	}
	return nil
}

// wanted reports whether the pod is a worker that would still be replaced after a failure.
func wanted(pod *corev1.Pod, job *unstructured.Unstructured) bool {
	if pod.Labels[replicaTypeLabel] != replicaTypeWorker {
		return false
	}
	index, err := strconv.ParseInt(pod.Labels[replicaIndexLabel], 10, 32)
	failed, _, _ := unstructured.NestedString(job.Object, "status", "failedIndexes")
	return err != nil || !contains(int32(index), failed)
}

// contains reports whether the index is in a list such as "0-3,7", as an ElasticJob writes it. Invalid parts are ignored.
func contains(index int32, list string) bool {
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, errFrom := strconv.ParseInt(first, 10, 32)
		to, errTo := strconv.ParseInt(last, 10, 32)
		if errFrom == nil && errTo == nil && int64(index) >= from && int64(index) <= to {
			return true
		}
	}
	return false
}

// withoutReplaced drops failed pods that have been replaced, which controllers keep for their logs. Each newer pod of a slot replaces at
// most one failed pod, so that a failure without a replacement is still shown. withoutReplaced modifies the slice.
func withoutReplaced(pods []corev1.Pod) []corev1.Pod {
	slots := map[string][]*corev1.Pod{}
	for i := range pods {
		if of := slot(&pods[i]); of != "" {
			slots[of] = append(slots[of], &pods[i])
		}
	}
	gone := map[string]bool{} // by name
	for _, of := range slots {
		// Creation times have a resolution of one second. Within a second, failed pods come first: Failed is the first phase by name.
		slices.SortStableFunc(of, func(a, b *corev1.Pod) int {
			return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Status.Phase, b.Status.Phase))
		})
		newest := len(of) - 1 // newest pod that has not replaced another one
		for i, pod := range slices.Backward(of) {
			if pod.Status.Phase == corev1.PodFailed && newest > i && newer(of[newest], pod) {
				gone[pod.Name] = true
				newest--
			}
		}
	}
	return slices.DeleteFunc(pods, func(pod corev1.Pod) bool { return gone[pod.Name] })
}

// newer reports whether p can be the replacement of a failed pod. Jobs replace pods seconds later. Other controllers may do so within the
// same second if the node rejected the pod.
func newer(p, failed *corev1.Pod) bool {
	if p.CreationTimestamp.Equal(&failed.CreationTimestamp) {
		ref := metav1.GetControllerOf(p)
		return ref != nil && ref.Kind != jobs.Kind
	}
	return failed.CreationTimestamp.Before(&p.CreationTimestamp)
}

// slot returns a key that a pod shares with its replacement: its controller and its index. All ReplicaSets of a Deployment count as one
// controller, because failed pods of old ReplicaSets remain after a rollout. slot returns "" if nothing replaces the pod.
func slot(pod *corev1.Pod) string {
	ref := metav1.GetControllerOf(pod)
	if ref == nil {
		return ""
	}
	if hash := pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; ref.Kind == replicaSets.Kind && hash != "" {
		return deployments.Kind + "/" + strings.TrimSuffix(ref.Name, "-"+hash)
	}
	return string(ref.UID) + "/" + cmp.Or(pod.Annotations[batchv1.JobCompletionIndexAnnotation], pod.Labels[batchv1.JobCompletionIndexAnnotation])
}

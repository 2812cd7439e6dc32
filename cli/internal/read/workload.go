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

	"github.com/holdfast-project/holdfast/shared/timeline"
)

// Workload is all that is known of one.
type Workload struct {
	// Objects from the root down, as they were read; at least one.
	Objects []*unstructured.Unstructured
	Pods    []corev1.Pod
	Events  []corev1.Event
	// Forbidden is what could not be read of it.
	Forbidden Forbidden
}

// Hidden is the right that one would need to know its pods, and has not. Empty: they are known.
func (w *Workload) Hidden() string {
	for _, resource := range []string{between[w.Root().GetKind()].resource, podsResource.Resource} {
		if right := "list " + resource; slices.Contains(w.Forbidden, right) {
			return right
		}
	}
	return ""
}

// Root is the object that nobody known owns.
func (w *Workload) Root() *unstructured.Unstructured { return w.Objects[0] }

// Name finds it again at once, from its root: KIND/NAME.
func (w *Workload) Name() string { return w.Root().GetKind() + "/" + w.Root().GetName() }

// Of the kind, nil if there is none.
func (w *Workload) Of(kind string) *unstructured.Unstructured {
	for _, o := range w.Objects {
		if o.GetKind() == kind {
			return o
		}
	}
	return nil
}

// Timeline is the workload as package timeline takes it.
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

// concerns tells whether an event of one of the named objects is about this workload, and not about an earlier one whose root had the same
// name: that was another object, and all that happened to what it had was before this one was created. What a reset has removed was another
// object too, yet of this workload.
func (w *Workload) concerns(e *corev1.Event) bool {
	root := w.Root()
	if about := e.InvolvedObject; about.UID != "" && about.Kind == root.GetKind() && about.Name == root.GetName() {
		return about.UID == root.GetUID()
	}
	return !EventTime(e).Before(root.GetCreationTimestamp().Time)
}

// named are kind and name of all objects, also of those that a reset has removed: their events tell what happened to them.
func (w *Workload) named() [][2]string {
	var list [][2]string
	add := func(kind, name string) {
		if entry := [2]string{kind, name}; kind != "" && name != "" && !slices.Contains(list, entry) {
			list = append(list, entry)
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

// Labels of the pods of an ElasticJob.
const (
	replicaTypeLabel  = "replica-type"
	replicaIndexLabel = "replica-index"
	replicaTypeWorker = "worker"
)

// Workers are the pods that are there for the work. Rigid ones are needed, all of them; of elastic ones, those of ElasticJobs, the job
// itself says whether they are enough. Neither has the rendezvous server of an ElasticJob, nor a worker that it has given up, whose pod is
// kept for its logs, nor a pod that failed and has been replaced.
func (w *Workload) Workers() (rigid, elastic []corev1.Pod) {
	for i := range w.Pods {
		pod := &w.Pods[i]
		switch job := w.elasticJobOf(pod); {
		case job == nil:
			rigid = append(rigid, *pod)
		case wanted(pod, job):
			elastic = append(elastic, *pod)
		}
	}
	return standing(rigid), elastic
}

// elasticJobOf is the ElasticJob whose pod it is, nil if it is none's. UIDs decide.
func (w *Workload) elasticJobOf(pod *corev1.Pod) *unstructured.Unstructured {
	ref := metav1.GetControllerOf(pod)
	if ref == nil {
		return nil
	}
	for _, o := range w.Objects {
		if o.GroupVersionKind().Group == elasticGroup && o.GetUID() == ref.UID {
			return o
		}
	}
	return nil
}

// wanted: a worker that was not given up.
func wanted(pod *corev1.Pod, job *unstructured.Unstructured) bool {
	if pod.Labels[replicaTypeLabel] != replicaTypeWorker {
		return false
	}
	index, err := strconv.ParseInt(pod.Labels[replicaIndexLabel], 10, 32)
	failed, _, _ := unstructured.NestedString(job.Object, "status", "failedIndexes")
	return err != nil || !among(int32(index), failed)
}

// among tells whether an index is one of those that an ElasticJob writes as "0-3,7". A part that cannot be read names nobody.
func among(index int32, list string) bool {
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

// standing leaves out Failed pods that have been replaced: their controllers keep them, for their logs, beside the pods that run in their
// place. Each newer pod of a place replaces one at most, so that a failure is shown as long as nobody has answered it.
func standing(pods []corev1.Pod) []corev1.Pod {
	places := map[string][]int{}
	for i := range pods {
		if of := place(&pods[i]); of != "" {
			places[of] = append(places[of], i)
		}
	}
	gone := map[int]bool{}
	for _, of := range places {
		for _, i := range replaced(pods, of) {
			gone[i] = true
		}
	}
	var list []corev1.Pod
	for i := range pods {
		if !gone[i] {
			list = append(list, pods[i])
		}
	}
	return list
}

// replaced are those of the pods of one place that failed, each paired with a newer one, both from the newest on.
func replaced(pods []corev1.Pod, of []int) []int {
	slices.SortStableFunc(of, func(a, b int) int { return order(&pods[a], &pods[b]) })
	var gone []int
	newest := len(of) - 1
	for i, index := range slices.Backward(of) {
		if pods[index].Status.Phase == corev1.PodFailed && newest > i && newer(&pods[of[newest]], &pods[index]) {
			gone = append(gone, index)
			newest--
		}
	}
	return gone
}

// order of creation, which is known by the second; of one second, what failed comes first.
func order(a, b *corev1.Pod) int {
	rank := func(p *corev1.Pod) int {
		if p.Status.Phase == corev1.PodFailed {
			return 0
		}
		return 1
	}
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(rank(a), rank(b)))
}

// newer tells whether a pod can be the replacement of one that failed. Those of Jobs come seconds after the failure; others may come in the
// second of the first pod's creation, if its node has refused it.
func newer(p, failed *corev1.Pod) bool {
	if p.CreationTimestamp.Equal(&failed.CreationTimestamp) {
		ref := metav1.GetControllerOf(p)
		return ref != nil && ref.Kind != jobs.Kind
	}
	return failed.CreationTimestamp.Before(&p.CreationTimestamp)
}

// place is what a pod shares with its replacement: its controller, and its index if it has one. ReplicaSets of one Deployment are one
// controller, as a roll-out leaves Failed pods of the old ones behind. Empty: nobody replaces it.
func place(pod *corev1.Pod) string {
	ref := metav1.GetControllerOf(pod)
	if ref == nil {
		return ""
	}
	if hash := pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; ref.Kind == replicaSets.Kind && hash != "" {
		return deployments.Kind + "/" + strings.TrimSuffix(ref.Name, "-"+hash)
	}
	return string(ref.UID) + "/" + cmp.Or(pod.Annotations[batchv1.JobCompletionIndexAnnotation], pod.Labels[batchv1.JobCompletionIndexAnnotation])
}

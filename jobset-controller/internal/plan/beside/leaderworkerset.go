package beside

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
)

// LeaderWorkerSet is the kind used by v0.8 of its controller. Objects are read as unstructured.
var LeaderWorkerSet = schema.GroupVersionKind{Group: "leaderworkerset.x-k8s.io", Version: "v1", Kind: "LeaderWorkerSet"}

// Keys set on pods by the LeaderWorkerSet controller. Its webhook adds the index to workers, possibly after ours has
// run.
const (
	lwsSize       = "leaderworkerset.sigs.k8s.io/size"        // annotation
	lwsLeaderName = "leaderworkerset.sigs.k8s.io/leader-name" // annotation of workers
	// WorkerIndexKey is a label with the index within the replica, "0" on the leader.
	WorkerIndexKey = "leaderworkerset.sigs.k8s.io/worker-index"
)

// settingsOfSets lists the annotations that the pod with index 0 inherits from its LeaderWorkerSet.
var settingsOfSets = append([]string{
	v1alpha2.MaxRestartsKey, v1alpha2.FormingTimeoutKey, v1alpha2.MaxRestartDelayKey, v1alpha2.NodeLostAfterKey, v1alpha2.SparesKey,
}, inherited...)

// Declare adds the labels and annotations that declare a group to a pod of a LeaderWorkerSet that requests in-place
// restarts. Each replica is a group, and its leader pod has index 0. Declare reports whether the LeaderWorkerSet
// requests in-place restarts.
func Declare(pod *corev1.Pod, set *unstructured.Unstructured) bool {
	if !Asks(set) {
		return false
	}
	index, leader := pod.Labels[WorkerIndexKey], pod.Annotations[lwsLeaderName]
	if index == "0" {
		leader = pod.Name
		for _, key := range settingsOfSets {
			if value, said := set.GetAnnotations()[key]; said {
				metav1.SetMetaDataAnnotation(&pod.ObjectMeta, key, value)
			}
		}
	}
	metav1.SetMetaDataLabel(&pod.ObjectMeta, v1alpha2.PodGroupKey, leader)
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1alpha2.PodGroupSizeKey, pod.Annotations[lwsSize])
	if index != "" {
		metav1.SetMetaDataLabel(&pod.ObjectMeta, v1alpha2.PodGroupIndexKey, index)
	}
	return true
}

// RefusalOfSet returns why a LeaderWorkerSet cannot have in-place restarts, or "" if it can. It checks only what cannot
// be determined from the leader pod.
func RefusalOfSet(set *unstructured.Unstructured) string {
	if policy, _, _ := unstructured.NestedString(set.Object, "spec", "startupPolicy"); policy == "LeaderReady" {
		return "spec.startupPolicy: with LeaderReady the workers are created after the leader is ready, and the leader would wait for them; use LeaderCreated"
	}
	template, found, _ := unstructured.NestedMap(set.Object, "spec", "leaderWorkerTemplate", "workerTemplate")
	worker := &corev1.Pod{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, worker); !found || err != nil {
		return ""
	}
	worker.Annotations = map[string]string{}
	if _, why := assess(worker, set.GetAnnotations()); why != "" {
		return "spec.leaderWorkerTemplate.workerTemplate: " + why
	}
	return ""
}

// claims returns an error if the pod cannot belong to the leader's group. Both must have the same controller or, in a
// LeaderWorkerSet, the pod's controller must be the StatefulSet named after the leader.
func claims(pod, leader *corev1.Pod) error {
	ours, theirs := controllerOf(pod), controllerOf(leader)
	owner := metav1.GetControllerOfNoCopy(pod)
	set := pod.Labels[inplace.LeaderWorkerSetKey]
	if ours == theirs || set != "" && set == leader.Labels[inplace.LeaderWorkerSetKey] && owner != nil && owner.Kind == "StatefulSet" && owner.Name == leader.Name {
		return nil
	}
	return fmt.Errorf("label %s: two owners claim the group: %s, and %s of pod %s", v1alpha2.PodGroupKey, ours, theirs, leader.Name)
}

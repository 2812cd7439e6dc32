package podcache

import (
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// share returns a text of which all pods in the cache hold one copy: each pod was decoded with copies of its own.
func share(text string) string { return unique.Make(text).Value() }

// shareTexts replaces the texts of a stripped pod that other pods have too: those of its workload, its node and the API.
func shareTexts(pod *corev1.Pod) {
	pod.Namespace, pod.GenerateName = share(pod.Namespace), share(pod.GenerateName)
	labels := make(map[string]string, len(pod.Labels))
	for key, value := range pod.Labels {
		labels[share(key)] = share(value)
	}
	pod.Labels = labels
	for i := range pod.OwnerReferences {
		shareOwner(&pod.OwnerReferences[i])
	}
	spec := &pod.Spec
	spec.NodeName, spec.SchedulerName, spec.PriorityClassName = share(spec.NodeName), share(spec.SchedulerName), share(spec.PriorityClassName)
	spec.RestartPolicy = corev1.RestartPolicy(share(string(spec.RestartPolicy)))
	for i := range spec.Tolerations {
		t := &spec.Tolerations[i]
		t.Key, t.Value = share(t.Key), share(t.Value)
		t.Operator, t.Effect = corev1.TolerationOperator(share(string(t.Operator))), corev1.TaintEffect(share(string(t.Effect)))
		if t.TolerationSeconds != nil && *t.TolerationSeconds == defaultTolerationSeconds {
			t.TolerationSeconds = &defaultTolerationSeconds
		}
	}
	for i := range spec.Containers {
		spec.Containers[i].Name = share(spec.Containers[i].Name)
	}
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		c.Type, c.Status = corev1.PodConditionType(share(string(c.Type))), corev1.ConditionStatus(share(string(c.Status)))
		c.Reason, c.Message = share(c.Reason), share(c.Message)
	}
	for i := range pod.Status.ContainerStatuses {
		pod.Status.ContainerStatuses[i].Name = share(pod.Status.ContainerStatuses[i].Name)
	}
}

func shareOwner(o *metav1.OwnerReference) {
	o.APIVersion, o.Kind, o.Name = share(o.APIVersion), share(o.Kind), share(o.Name)
	o.UID = types.UID(share(string(o.UID)))
	yes, no := &isTrue, &isFalse
	for _, flag := range []**bool{&o.Controller, &o.BlockOwnerDeletion} {
		switch {
		case *flag == nil:
		case **flag:
			*flag = yes
		default:
			*flag = no
		}
	}
}

// What pods of the cache point to is not changed.
var (
	isTrue, isFalse          = true, false
	defaultTolerationSeconds = int64(300) // that the API server gives to each pod
)

// Package pods builds pods for tests in the states that the kubelet reports.
package pods

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// Pod is a pod under construction.
type Pod struct{ pod corev1.Pod }

// Make returns a pod that has been running on node a since `created`.
func Make(name string, created time.Time) *Pod {
	return &Pod{corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(created),
			Labels: map[string]string{}, Annotations: map[string]string{},
		},
		Spec:   corev1.PodSpec{NodeName: "a", RestartPolicy: corev1.RestartPolicyAlways, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, StartTime: ptr.To(metav1.NewTime(created))},
	}}
}

// Obj returns a copy of the pod.
func (p *Pod) Obj() *corev1.Pod { return p.pod.DeepCopy() }

// Change applies a function to the pod.
func (p *Pod) Change(change func(*corev1.Pod)) *Pod { change(&p.pod); return p }

// On binds the pod to a node.
func (p *Pod) On(node string) *Pod { p.pod.Spec.NodeName = node; return p }

// Pending sets the phase of a bound pod to Pending.
func (p *Pod) Pending() *Pod { p.pod.Status.Phase = corev1.PodPending; return p }

// Rejected sets the status of a pod that the kubelet rejected or evicted. It has only a phase, a reason and a message.
func (p *Pod) Rejected(reason, message string) *Pod {
	p.pod.Status.Phase, p.pod.Status.Reason, p.pod.Status.Message = corev1.PodFailed, reason, message
	return p
}

// Condition adds a condition.
func (p *Pod) Condition(kind corev1.PodConditionType, status corev1.ConditionStatus, reason string, since time.Time) *Pod {
	p.pod.Status.Conditions = append(p.pod.Status.Conditions, corev1.PodCondition{
		Type: kind, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(since),
	})
	return p
}

// Waiting adds a container that is waiting with the given reason and number of restarts.
func (p *Pod) Waiting(reason string, restarts int32) *Pod {
	return p.container(corev1.ContainerStatus{
		Name: "c", RestartCount: restarts, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}},
	})
}

// Terminated adds a terminated container.
func (p *Pod) Terminated(reason string, code int32, at time.Time) *Pod {
	return p.container(corev1.ContainerStatus{
		Name: "c", State: corev1.ContainerState{Terminated: end(reason, code, at)},
	})
}

// Loops adds a container that terminated with a reason and is waiting for its back-off.
func (p *Pod) Loops(reason string, code, restarts int32, at time.Time) *Pod {
	return p.container(corev1.ContainerStatus{
		Name: "c", RestartCount: restarts, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: end(reason, code, at)},
	})
}

// Again adds a container that has been running since `at`, after an earlier run terminated with a reason.
func (p *Pod) Again(reason string, code, restarts int32, at time.Time) *Pod {
	return p.container(corev1.ContainerStatus{
		Name: "c", RestartCount: restarts, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(at)}},
		LastTerminationState: corev1.ContainerState{Terminated: end(reason, code, at)},
	})
}

func (p *Pod) container(s corev1.ContainerStatus) *Pod {
	p.pod.Status.ContainerStatuses = append(p.pod.Status.ContainerStatuses, s)
	return p
}

func end(reason string, code int32, at time.Time) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{Reason: reason, ExitCode: code, FinishedAt: metav1.NewTime(at)}
}

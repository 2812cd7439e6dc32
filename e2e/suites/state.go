package suites

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// State returns a line for each pod of a namespace, with its node and container statuses, and for each event. It is
// meant for the log of a failed test. If a List call fails, the error becomes a line too.
func State(ctx context.Context, k8s client.Reader, namespace string) string {
	var lines []string
	var pods corev1.PodList
	if err := k8s.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
		lines = append(lines, fmt.Sprintf("listing pods: %v", err))
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		lines = append(lines, fmt.Sprintf("pod %s on %q: %s %s %v %s", pod.Name, pod.Spec.NodeName, pod.Status.Phase, pod.Status.Reason, pod.Annotations, containers(pod)))
	}
	var list eventsv1.EventList
	if err := k8s.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		lines = append(lines, fmt.Sprintf("listing events: %v", err))
	}
	for _, e := range list.Items {
		lines = append(lines, fmt.Sprintf("event %s %s/%s: %s", e.Reason, e.Regarding.Kind, e.Regarding.Name, e.Note))
	}
	return strings.Join(lines, "\n")
}

func containers(pod *corev1.Pod) string {
	var all []string
	for _, c := range pod.Status.ContainerStatuses {
		all = append(all, fmt.Sprintf("%s: %d restarts, now %s, before %s", c.Name, c.RestartCount, state(c.State), state(c.LastTerminationState)))
	}
	return strings.Join(all, "; ")
}

func state(s corev1.ContainerState) string {
	const clock = "15:04:05"
	switch {
	case s.Waiting != nil:
		return "waiting for " + s.Waiting.Reason
	case s.Running != nil:
		return "running since " + s.Running.StartedAt.Format(clock)
	case s.Terminated != nil:
		return fmt.Sprintf("terminated by %s with exit code %d at %s", s.Terminated.Reason, s.Terminated.ExitCode, s.Terminated.FinishedAt.Format(clock))
	}
	return "nothing"
}

package signals

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Match is a row that a pod matches.
type Match struct {
	Row    Row
	Reason string // as reported by the pod
	// Since is when the problem began. It is zero if the pod's status does not contain this time, and the caller must then keep track of
	// it.
	Since time.Time
	// Down means that the problem persists. A container in a crash loop runs between two failures. Once it has run for StatusAge, it is no
	// longer down.
	Down bool
	// OwnLimit means that the container has a memory limit and was killed because of its memory usage. Unless the node is short of memory,
	// it exceeded that limit.
	OwnLimit bool
}

// Matches returns the rows that a pod matches, in the order of the table. Rows that are Off are left out. A pod that has succeeded matches
// none.
func (t Table) Matches(pod *corev1.Pod, now time.Time) []Match {
	var found []Match
	if pod.Status.Phase == corev1.PodSucceeded {
		return nil
	}
	for _, row := range t {
		if row.Trigger == Off {
			continue
		}
		if m, ok := row.match(pod, now); ok {
			m.Row = row
			found = append(found, m)
		}
	}
	return found
}

// Instant returns the first match that depends neither on elapsed time nor on other pods. The webhook uses it for pods that have failed.
func (t Table) Instant(pod *corev1.Pod, now time.Time) (Match, bool) {
	for _, m := range t.Matches(pod, now) {
		switch {
		case m.Row.Action == Never:
			return Match{}, false
		case m.Row.Instant():
			return m, true
		}
	}
	return Match{}, false
}

func (r Row) match(pod *corev1.Pod, now time.Time) (Match, bool) {
	switch r.Where {
	case Phase:
		status := &pod.Status
		failed := status.Phase == corev1.PodFailed && r.hasReason(status.Reason) && (r.Message == nil || r.Message(status.Message))
		return Match{Reason: status.Reason, Since: FailedAt(pod), Down: true}, failed
	case Disruption:
		c := Condition(pod, corev1.DisruptionTarget)
		if c == nil || c.Status != corev1.ConditionTrue || !r.hasReason(c.Reason) {
			return Match{}, false
		}
		return Match{Reason: c.Reason, Since: c.LastTransitionTime.Time, Down: true}, true
	case Container:
		return r.container(pod)
	case Loop:
		return r.loop(pod, now)
	case Sandbox:
		return r.sandbox(pod)
	case Device:
		return r.device(pod)
	case Repeat:
		return r.repeat(pod)
	}
	return Match{}, false
}

func (r Row) hasReason(reason string) bool {
	return reason != "" && slices.ContainsFunc(r.Reasons, func(known string) bool {
		prefix, isPrefix := strings.CutSuffix(known, "*")
		return known == reason || isPrefix && strings.HasPrefix(reason, prefix)
	})
}

func (r Row) hasCode(code int32) bool {
	if len(r.ExitCodes) == 0 {
		return code != 0
	}
	return slices.Contains(r.ExitCodes, code)
}

// container matches a container that is waiting with one of the reasons, or that has terminated with one of them and is not restarted.
func (r Row) container(pod *corev1.Pod) (Match, bool) {
	for _, c := range statuses(pod) {
		if w := c.State.Waiting; w != nil && r.hasReason(w.Reason) {
			return Match{Reason: w.Reason, Down: true}, true
		}
		if t := c.State.Terminated; t != nil && r.hasReason(t.Reason) && r.hasCode(t.ExitCode) {
			return Match{Reason: t.Reason, Since: ended(pod, t), Down: true}, true
		}
	}
	return Match{}, false
}

// ended returns when the container ended. If the container was lost, it returns when the pod failed, so that this program does not mistake
// the loss for a new failure after a restart.
func ended(pod *corev1.Pod, t *corev1.ContainerStateTerminated) time.Time {
	if t.FinishedAt.IsZero() && pod.Status.Phase == corev1.PodFailed {
		return FailedAt(pod)
	}
	return t.FinishedAt.Time
}

// StatusAge is how long the reported status of a pod may lag behind its actual state on the node.
const StatusAge = 10 * time.Second

// steady is how long a container must run before the kubelet resets its back-off, which ends a crash loop.
const steady = 10 * time.Minute

// loop matches a container that failed with one of the reasons and has not been steady since, or that failed in a pod that is not
// restarted.
func (r Row) loop(pod *corev1.Pod, now time.Time) (Match, bool) {
	for _, c := range statuses(pod) {
		if t := c.State.Terminated; t != nil && r.hasReason(t.Reason) && r.hasCode(t.ExitCode) {
			final := pod.Status.Phase == corev1.PodFailed && pod.Spec.RestartPolicy == corev1.RestartPolicyNever
			if onlyReason := !slices.Contains(r.Reasons, "*"); onlyReason && final || c.RestartCount >= r.Restarts && !final {
				m := Match{Reason: t.Reason, Down: true, OwnLimit: limited(pod, c.Name, t)}
				if final { // if the container is restarted, the problem began earlier
					m.Since = t.FinishedAt.Time
				}
				return m, true
			}
		}
		last := c.LastTerminationState.Terminated
		if last == nil || !r.hasReason(last.Reason) || !r.hasCode(last.ExitCode) || c.RestartCount < r.Restarts {
			continue
		}
		if w := c.State.Waiting; w != nil && w.Reason == "CrashLoopBackOff" {
			return Match{Reason: last.Reason, Down: true, OwnLimit: limited(pod, c.Name, last)}, true
		}
		if running := c.State.Running; running != nil && now.Sub(running.StartedAt.Time) < steady {
			return Match{Reason: last.Reason, Down: justFailed(pod, last, now), OwnLimit: limited(pod, c.Name, last)}, true
		}
	}
	return Match{}, false
}

// justFailed reports whether a container that is running again has failed within StatusAge. It is needed because the kubelet may never
// report such a container as down: if a container fails its liveness probe, the kubelet kills it and starts it again in the same sync,
// unless its back-off is longer than the container ran. Restarts in place, which also terminate healthy containers, do not count.
func justFailed(pod *corev1.Pod, last *corev1.ContainerStateTerminated, now time.Time) bool {
	return !InPlace(pod) && now.Sub(last.FinishedAt.Time) < StatusAge
}

// limited reports whether a container that was killed because of its memory usage had a limit, either its own or that of its pod.
func limited(pod *corev1.Pod, container string, t *corev1.ContainerStateTerminated) bool {
	if t.Reason != "OOMKilled" {
		return false
	}
	if pod.Spec.Resources != nil && !pod.Spec.Resources.Limits.Memory().IsZero() {
		return true
	}
	return slices.ContainsFunc(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), func(c corev1.Container) bool {
		return c.Name == container && !c.Resources.Limits.Memory().IsZero()
	})
}

// sandbox matches a pod that is waiting for its sandbox. Volumes, devices and the network are set up before the condition becomes True, and
// images are pulled after that.
func (r Row) sandbox(pod *corev1.Pod) (Match, bool) {
	if pod.Status.Phase != corev1.PodPending || pod.Spec.NodeName == "" {
		return Match{}, false
	}
	c := Condition(pod, corev1.PodReadyToStartContainers)
	if c == nil || c.Status != corev1.ConditionFalse {
		return Match{}, false
	}
	return Match{Reason: "SandboxNotReady", Since: c.LastTransitionTime.Time, Down: true}, true
}

func (r Row) device(pod *corev1.Pod) (Match, bool) {
	for _, c := range statuses(pod) {
		for _, status := range c.AllocatedResourcesStatus {
			for _, resource := range status.Resources {
				if r.hasReason(string(resource.Health)) {
					return Match{Reason: string(status.Name) + " " + string(resource.Health), Down: true}, true
				}
			}
		}
	}
	return Match{}, false
}

// repeat matches a group member that was repeatedly restarted in place. Its group continues, and its next pod avoids the node.
func (r Row) repeat(pod *corev1.Pod) (Match, bool) {
	if !InPlace(pod) || pod.Spec.NodeName == "" {
		return Match{}, false
	}
	for _, c := range pod.Status.ContainerStatuses {
		if last := c.LastTerminationState.Terminated; last != nil && byItself(last) && c.RestartCount >= r.Restarts {
			return Match{Reason: cmp.Or(last.Reason, "Error"), Since: last.FinishedAt.Time, Down: true}, true
		}
	}
	return Match{}, false
}

// byItself reports whether the container failed on its own. An agent stops healthy workers to restart their group; those have not failed.
func byItself(t *corev1.ContainerStateTerminated) bool {
	const killed, terminated = 128 + 9, 128 + 15
	return t.Reason == "OOMKilled" || t.ExitCode != 0 && t.ExitCode != killed && t.ExitCode != terminated
}

// FailedAt returns when a pod failed. It is the first of these times that is known: when its last container ended, when it was disrupted,
// when it became unready, when it started (which is when the kubelet rejected it), or when it was created.
func FailedAt(pod *corev1.Pod) time.Time {
	var last time.Time
	for _, c := range statuses(pod) {
		if t := c.State.Terminated; t != nil && t.FinishedAt.After(last) {
			last = t.FinishedAt.Time
		}
	}
	return cmp.Or(last, Since(pod, corev1.DisruptionTarget, corev1.ConditionTrue), Since(pod, corev1.PodReady, corev1.ConditionFalse),
		ptr.Deref(pod.Status.StartTime, metav1.Time{}).Time, pod.CreationTimestamp.Time)
}

// Since returns when the condition of the pod changed to the status, or zero if it does not have that status.
func Since(pod *corev1.Pod, kind corev1.PodConditionType, status corev1.ConditionStatus) time.Time {
	if c := Condition(pod, kind); c != nil && c.Status == status {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}

// Condition returns a condition of the pod, or nil if the pod does not have it.
func Condition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

func statuses(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
}

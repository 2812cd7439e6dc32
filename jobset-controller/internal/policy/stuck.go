package policy

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/grace"
)

// stuckPodRule has no default: a JobSet enables it by a value.
var stuckPodRule = grace.Rule{Name: "annotation " + v1alpha2.StuckPodTimeoutKey, Minimum: time.Second}

// StuckPodTimeout returns how long after its grace period a pod may be terminating on a dead node; 0 if the JobSet sets no valid
// limit.
func StuckPodTimeout(annotations map[string]string) (time.Duration, *Problem) {
	value, found := annotations[v1alpha2.StuckPodTimeoutKey]
	if !found {
		return 0, nil
	}
	timeout, err := stuckPodRule.Parse(value)
	if err == nil && timeout == 0 {
		err = fmt.Errorf("%s: %q is empty; set a duration such as \"60s\"", stuckPodRule.Name, value)
	}
	if err != nil {
		return 0, &Problem{Annotation: v1alpha2.StuckPodTimeoutKey, Value: value, Message: err.Error()}
	}
	return timeout, nil
}

// Overdue returns how long a pod has been terminating beyond its grace period and the timeout. It is negative while there is time
// left, and the most negative duration for a pod that is not being deleted.
func Overdue(pod *corev1.Pod, timeout time.Duration, now time.Time) time.Duration {
	if pod.DeletionTimestamp.IsZero() {
		return -1 << 63
	}
	return now.Sub(pod.DeletionTimestamp.Add(timeout))
}

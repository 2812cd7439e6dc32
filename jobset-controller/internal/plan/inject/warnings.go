package inject

import (
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// warningsOf returns the warnings for a template that gets a driver.
func warningsOf(t *template) []string {
	if t.Driver != Exec {
		return nil
	}
	var list []string
	warn := func(set bool, path *field.Path, why string) {
		if set {
			list = append(list, path.String()+": "+why)
		}
	}
	worker, path := t.worker(), t.workerPath()
	warn(worker.LivenessProbe != nil, path.Child("livenessProbe"), "it may kill a worker that waits for the others to start")
	warn(worker.StartupProbe != nil, path.Child("startupProbe"), "it may kill a worker that waits for the others to start")
	warn(t.job().SuccessPolicy != nil, t.jobPath().Child("successPolicy"),
		"a worker that has finished is held until the others have, and succeeds only then")
	return list
}

// warningsByHand returns the warnings for an agent that the user has added. Without these settings an ordered restart fails the Job
// or the pod.
func warningsByHand(t *template) []string {
	var list []string
	if limit := t.job().BackoffLimit; ptr.Deref(limit, 6) != math.MaxInt32 {
		list = append(list, fmt.Sprintf("%s: restarts in place count towards it; set %d", t.jobPath().Child("backoffLimit"), math.MaxInt32))
	}
	// Without a policy the JobSet gives its pods OnFailure.
	if policy := t.pod().RestartPolicy; policy != "" && policy != corev1.RestartPolicyOnFailure {
		list = append(list, fmt.Sprintf("%s: %s keeps workers from restarting in place; set OnFailure", t.podPath().Child("restartPolicy"), policy))
	}
	return list
}

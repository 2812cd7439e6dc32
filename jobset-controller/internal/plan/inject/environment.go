package inject

import (
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// Variables that agents read, as the manifest of seed 000 names them.
const (
	envJobSetUID = "JOBSET_UID"
	envContainer = "WORKER_CONTAINER_NAME"
	envReadyPort = "READY_PORT"
)

// identity tells an agent whose worker it has. The UID of a Job is not known before it is created: its pods have it in a label.
func identity(alone bool) []corev1.EnvVar {
	uid := fromAnnotation(envJobSetUID, v1alpha2.JobSetUIDKey)
	if alone {
		uid = supervise.FromField(envJobSetUID, "metadata.labels['"+batchv1.ControllerUidLabel+"']")
	}
	return []corev1.EnvVar{
		uid,
		fromAnnotation("JOBSET_NAME", v1alpha2.JobSetNameKey),
		fromAnnotation("REPLICATED_JOB_NAME", v1alpha2.ReplicatedJobNameKey),
		fromAnnotation("JOB_INDEX", v1alpha2.JobIndexKey),
		fromAnnotation("JOB_COMPLETION_INDEX", batchv1.JobCompletionIndexAnnotation),
		supervise.FromField("POD_UID", "metadata.uid"),
		fromAnnotation("HOLDFAST_POD_EPOCH", epoch.Annotation),
		supervise.FromField("HOLDFAST_POD_NAME", "metadata.name"),
		supervise.FromField("HOLDFAST_NODE_NAME", "spec.nodeName"),
	}
}

func fromAnnotation(name, key string) corev1.EnvVar {
	return supervise.FromField(name, "metadata.annotations['"+key+"']")
}

// reserved are the variables of the exec driver, which shares its container with the worker. Rules see to it that a worker has none
// of them that says anything else.
var reserved = append(identity(false), supervise.Reserved()...)

// sameSource reports whether a variable of the user's says what ours says. Each of the keys is a label as well.
func sameSource(have, ours corev1.EnvVar) bool {
	if ours.ValueFrom == nil || have.ValueFrom == nil || have.ValueFrom.FieldRef == nil {
		return false
	}
	path := have.ValueFrom.FieldRef.FieldPath
	return strings.Replace(path, "metadata.labels[", "metadata.annotations[", 1) == ours.ValueFrom.FieldRef.FieldPath
}

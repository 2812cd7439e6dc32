package inject

import (
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// Variables that agents read, with the names in the manifest of JobSet KEP-876.
const (
	envJobSetUID = "JOBSET_UID"
	envContainer = "WORKER_CONTAINER_NAME"
	envReadyPort = "READY_PORT"
	envPodEpoch  = "HOLDFAST_POD_EPOCH"
)

// identity returns the variables that identify an agent's worker, given the kind of the group's owner and the Job.
func identity(kind string, job *batchv1.Job) []corev1.EnvVar {
	list := []corev1.EnvVar{
		fromAnnotation(envJobSetUID, v1alpha2.JobSetUIDKey),
		fromAnnotation("JOBSET_NAME", v1alpha2.JobSetNameKey),
		fromAnnotation("REPLICATED_JOB_NAME", v1alpha2.ReplicatedJobNameKey),
		fromAnnotation("JOB_INDEX", v1alpha2.JobIndexKey),
		fromAnnotation("JOB_COMPLETION_INDEX", batchv1.JobCompletionIndexAnnotation),
		supervise.FromField("POD_UID", "metadata.uid"),
		fromAnnotation(envPodEpoch, epoch.Annotation),
		supervise.FromField("HOLDFAST_POD_NAME", "metadata.name"),
		supervise.FromField("HOLDFAST_NODE_NAME", "spec.nodeName"),
	}
	switch {
	case kind == inplace.JobKind: // its UID is not known before it is created; its pods have it in a label
		list[0] = supervise.FromField(envJobSetUID, "metadata.labels['"+batchv1.ControllerUidLabel+"']")
	case kind == inplace.PodKind && job.Annotations[v1alpha2.JobSetUIDKey] == "": // the pod with index 0 is the owner
		list[0] = supervise.FromField(envJobSetUID, "metadata.uid")
	}
	if kind == inplace.PodKind { // the annotation is on the pod with index 0 only, and belongs to the group
		list = slices.DeleteFunc(list, func(v corev1.EnvVar) bool { return v.Name == envPodEpoch })
	}
	return list
}

func fromAnnotation(name, key string) corev1.EnvVar {
	return supervise.FromField(name, "metadata.annotations['"+key+"']")
}

// reserved are the variables of the exec driver, which shares its container with the worker. The rules reject a worker that sets
// one of them to another value.
var reserved = slices.Concat(identity("", nil), supervise.Reserved(), ownIdentity(First{}))

// sameSource reports whether a variable of the user has the same source as ours. Each of the annotations is a label as well.
func sameSource(have, ours corev1.EnvVar) bool {
	if ours.ValueFrom == nil || have.ValueFrom == nil || have.ValueFrom.FieldRef == nil {
		return false
	}
	path := have.ValueFrom.FieldRef.FieldPath
	return strings.Replace(path, "metadata.labels[", "metadata.annotations[", 1) == ours.ValueFrom.FieldRef.FieldPath
}

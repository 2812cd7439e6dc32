package inject

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
)

// rules that a template must keep to get a driver. Each returns what stands against it, or nil.
var rules = []func(*template) *field.Error{
	commandIsKnown, noPodFailurePolicy, noBackoffLimitPerIndex, isIndexed, allRunAtOnce, variablesAreFree, namesAreFree, pathIsFree,
	containersStay,
}

// The supervisor starts the worker by its command; that of the image is not known here.
func commandIsKnown(t *template) *field.Error {
	if t.Driver != Exec || len(t.worker().Command) > 0 {
		return nil
	}
	return field.Required(t.workerPath().Child("command"), "the exec driver starts the worker and cannot see the image's replicatedJob point")
}

// Rules of a policy would answer a worker that was stopped on an order.
func noPodFailurePolicy(t *template) *field.Error {
	if t.job().PodFailurePolicy == nil {
		return nil
	}
	return field.Forbidden(t.jobPath().Child("podFailurePolicy"), "it needs restartPolicy Never, restarts in place need OnFailure")
}

func noBackoffLimitPerIndex(t *template) *field.Error {
	if t.job().BackoffLimitPerIndex == nil {
		return nil
	}
	return field.Forbidden(t.jobPath().Child("backoffLimitPerIndex"), "workers that were stopped on an order would count towards it")
}

// The completion index is the worker's place in the group.
func isIndexed(t *template) *field.Error {
	mode := ptr.Deref(t.job().CompletionMode, batchv1.IndexedCompletion)
	if mode == batchv1.IndexedCompletion {
		return nil
	}
	return field.Invalid(t.jobPath().Child("completionMode"), mode, "workers are told apart by their completion index: use Indexed")
}

// A worker that comes after others have finished would be waited for by all of them.
func allRunAtOnce(t *template) *field.Error {
	parallelism, completions := ptr.Deref(t.job().Parallelism, 1), ptr.Deref(t.job().Completions, 1)
	if parallelism == completions {
		return nil
	}
	return field.Invalid(t.jobPath().Child("completions"), completions, "it must equal parallelism, so that all workers run at once")
}

// variablesAreFree keeps variables of the user's from being overwritten. The same value from the downward API is welcome.
func variablesAreFree(t *template) *field.Error {
	if t.Driver != Exec {
		return nil
	}
	for i, have := range t.worker().Env {
		ours := slices.IndexFunc(reserved, func(v corev1.EnvVar) bool { return v.Name == have.Name })
		if ours >= 0 && !sameSource(have, reserved[ours]) {
			return field.Invalid(t.workerPath().Child("env").Index(i).Child("name"), have.Name, "the exec driver needs this variable; rename it")
		}
	}
	return nil
}

func namesAreFree(t *template) *field.Error {
	for i, c := range t.pod().InitContainers {
		if c.Name == installerName || c.Name == sidecarName {
			return field.Duplicate(t.podPath().Child("initContainers").Index(i).Child("name"), c.Name)
		}
	}
	for i, v := range t.pod().Volumes {
		if slices.Contains(volumeNames, v.Name) {
			return field.Duplicate(t.podPath().Child("volumes").Index(i).Child("name"), v.Name)
		}
	}
	return nil
}

func pathIsFree(t *template) *field.Error {
	for i, m := range t.worker().VolumeMounts {
		if m.MountPath == startupDir || m.MountPath == credentialsDir {
			return field.Duplicate(t.workerPath().Child("volumeMounts").Index(i).Child("mountPath"), m.MountPath)
		}
	}
	return nil
}

// The owner of pods may recreate all of them when a container restarts.
func containersStay(t *template) *field.Error {
	if t.Driver != CRI || !inplace.IsPods(t.jobSet) {
		return nil
	}
	_, path, _ := t.annotation(v1alpha2.InPlaceDriverKey)
	return field.NotSupported(path, t.Driver, []Driver{Exec, None})
}

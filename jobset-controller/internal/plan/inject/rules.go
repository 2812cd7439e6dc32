package inject

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
)

// violations returns the settings of the template that the driver does not support.
func (t *template) violations() []*field.Error {
	job, path := t.job(), t.jobPath()
	var errs []*field.Error
	refuse := func(is bool, err *field.Error) {
		if is {
			errs = append(errs, err)
		}
	}
	refuse(t.Driver == Exec && len(t.worker().Command) == 0,
		field.Required(t.workerPath().Child("command"), "required with the exec driver, which cannot read the image's entry point"))
	// The rules of a pod failure policy would match workers that were stopped for a restart.
	refuse(job.PodFailurePolicy != nil,
		field.Forbidden(path.Child("podFailurePolicy"), "it requires restartPolicy Never, but in-place restarts require OnFailure"))
	refuse(job.BackoffLimitPerIndex != nil,
		field.Forbidden(path.Child("backoffLimitPerIndex"), "workers stopped for a restart would count towards it"))
	mode := ptr.Deref(job.CompletionMode, batchv1.IndexedCompletion)
	refuse(mode != batchv1.IndexedCompletion,
		field.Invalid(path.Child("completionMode"), mode, "workers are distinguished by their completion index: use Indexed"))
	// Otherwise, the group would wait for workers that only start after others have finished.
	completions := ptr.Deref(job.Completions, 1)
	refuse(completions != ptr.Deref(job.Parallelism, 1),
		field.Invalid(path.Child("completions"), completions, "it must equal parallelism, so that all workers run at once"))
	errs = append(errs, t.variableConflict(), supervise.Conflict(t.pod(), t.podPath(), t.Container, sidecarName, socketVolume))
	// The owner of pods without a Job may recreate all of them when a container restarts.
	_, driver, _ := t.annotation(v1alpha2.InPlaceDriverKey)
	refuse(t.Driver == CRI && inplace.IsPods(t.jobSet), field.NotSupported(driver, t.Driver, []Driver{Exec, None}))
	return errs
}

// variableConflict rejects user variables that the agent's variables would overwrite, unless they take the same value
// from the downward API.
func (t *template) variableConflict() *field.Error {
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

// lostNodeSeconds is how long pods stay on an unreachable node, in addition to the 40 to 50 s until Kubernetes marks
// the node. The default is 300 s, during which a whole group waits for one node. Nothing is lost if the node returns
// later, because its group has continued without it.
const lostNodeSeconds int64 = 10

// lostNode lists the taints of an unreachable node.
var lostNode = []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable}

// leaveLostNodes makes pods leave an unreachable node early, unless their author has set tolerations for it.
func leaveLostNodes(pod *corev1.PodSpec) {
	for _, taint := range lostNode {
		if tolerated(pod.Tolerations, taint) {
			continue
		}
		pod.Tolerations = append(pod.Tolerations, corev1.Toleration{
			Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To(lostNodeSeconds),
		})
	}
}

func tolerated(tolerations []corev1.Toleration, taint string) bool {
	return slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool {
		effect := t.Effect == "" || t.Effect == corev1.TaintEffectNoExecute
		return effect && (t.Key == taint || (t.Key == "" && t.Operator == corev1.TolerationOpExists))
	})
}

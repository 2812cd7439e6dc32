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

// rules lists the requirements of the drivers. Each rule returns what is wrong with the template, or nil.
var rules = []func(*template) *field.Error{
	commandIsKnown, noPodFailurePolicy, noBackoffLimitPerIndex, isIndexed, allRunAtOnce, variablesAreFree, namesAreFree, containersStay,
}

// commandIsKnown requires a command, because the supervisor starts the worker and cannot read the command of the image.
func commandIsKnown(t *template) *field.Error {
	if t.Driver != Exec || len(t.worker().Command) > 0 {
		return nil
	}
	return field.Required(t.workerPath().Child("command"), "required with the exec driver, which cannot read the image's entry point")
}

// noPodFailurePolicy rejects pod failure policies, because their rules would match a worker that was asked to stop.
func noPodFailurePolicy(t *template) *field.Error {
	if t.job().PodFailurePolicy == nil {
		return nil
	}
	return field.Forbidden(t.jobPath().Child("podFailurePolicy"), "it requires restartPolicy Never, but in-place restarts require OnFailure")
}

func noBackoffLimitPerIndex(t *template) *field.Error {
	if t.job().BackoffLimitPerIndex == nil {
		return nil
	}
	return field.Forbidden(t.jobPath().Child("backoffLimitPerIndex"), "workers stopped for a restart would count towards it")
}

// isIndexed requires an Indexed Job, because the completion index is the worker's slot in the group.
func isIndexed(t *template) *field.Error {
	mode := ptr.Deref(t.job().CompletionMode, batchv1.IndexedCompletion)
	if mode == batchv1.IndexedCompletion {
		return nil
	}
	return field.Invalid(t.jobPath().Child("completionMode"), mode, "workers are distinguished by their completion index: use Indexed")
}

// allRunAtOnce requires that all workers run at the same time, because the group would otherwise wait for a worker that
// is only started after others have finished.
func allRunAtOnce(t *template) *field.Error {
	parallelism, completions := ptr.Deref(t.job().Parallelism, 1), ptr.Deref(t.job().Completions, 1)
	if parallelism == completions {
		return nil
	}
	return field.Invalid(t.jobPath().Child("completions"), completions, "it must equal parallelism, so that all workers run at once")
}

// variablesAreFree prevents the user's variables from being overwritten. The same value from the downward API is
// allowed.
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
	return supervise.Conflict(t.pod(), t.podPath(), t.Container, sidecarName, socketVolume)
}

// containersStay rejects the cri driver for pods without a Job, whose owner may recreate all of them when a container
// restarts.
func containersStay(t *template) *field.Error {
	if t.Driver != CRI || !inplace.IsPods(t.jobSet) {
		return nil
	}
	_, path, _ := t.annotation(v1alpha2.InPlaceDriverKey)
	return field.NotSupported(path, t.Driver, []Driver{Exec, None})
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

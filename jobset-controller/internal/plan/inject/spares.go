package inject

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// maxSpares limits the spares of a replicatedJob. A higher number is probably a typo.
const maxSpares = 100

const (
	// generated is a placeholder for the suffix that the API server appends to generateName.
	generated = "xxxxx"
	// longestSpare is the longest suffix that can follow the names of the JobSet and the replicatedJob in the name of a
	// spare pod.
	longestSpare = "-" + coordination.Spares + "-99-xxxxx"
)

func (t *template) findSpares() *field.Error {
	value, path, found := t.annotation(v1alpha2.SparesKey)
	if !found {
		return nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > maxSpares {
		return field.Invalid(path, value, fmt.Sprintf("it must be a number from 0 to %d", maxSpares))
	}
	t.Spares = n
	return nil
}

// slotIsFree rejects a template with the slot annotation, which only the orchestrator may set.
func (t *template) slotIsFree() *field.Error {
	if _, found := t.job().Template.Annotations[v1alpha2.SlotKey]; !found {
		return nil
	}
	path := t.path.Child("spec", "template", "metadata", "annotations").Key(v1alpha2.SlotKey)
	return field.Forbidden(path, "the orchestrator sets it on pods to which it assigns slots")
}

// checkSpares rejects spares that could not take over a slot, or that are not included in the JobSet's quota. An
// annotation on the JobSet has no effect on replicatedJobs without agents.
func (a *Assessment) checkSpares(js *v1alpha2.JobSet) {
	for i := range a.Entries {
		if e := &a.Entries[i]; e.Spares > 0 {
			t := templateOf(js, i)
			_, path, _ := t.annotation(v1alpha2.SparesKey)
			if _, own := t.rjob.Template.Annotations[v1alpha2.SparesKey]; e.Driver == None && !own && !bringsAgent(*t.rjob) {
				e.Spares = 0
			} else if why := a.noSpares(t, e); why != "" {
				a.refuse(field.Forbidden(path, why))
			}
		}
	}
}

// noSpares returns why a template cannot have spares, or "" if it can.
func (a *Assessment) noSpares(t *template, e *Entry) string {
	js := t.jobSet
	owner := metav1.GetControllerOf(js)
	switch {
	case inplace.IsAlone(js):
		return "only JobSets can have spares"
	case slices.ContainsFunc(js.Spec.ReplicatedJobs, bringsAgent):
		return "spares need agents that the manager adds; remove those in the templates"
	case slices.ContainsFunc(a.Entries, func(e Entry) bool { return e.Driver == CRI }):
		return "spares wait at the barrier of the exec driver, which the cri driver does not have"
	case e.Driver != Exec:
		return "spares need the exec driver"
	case policy.Queued(js):
		return "Kueue does not count spares of a JobSet that it queues as a whole; queue its Jobs instead, with " + v1alpha2.StageQueueKey
	case t.rjob.Template.Labels[v1alpha2.QueueNameLabel] != "":
		return "Kueue and the manager would both resume the spare Job; queue the Jobs with " + v1alpha2.StageQueueKey
	case owner != nil:
		return fmt.Sprintf("the quota of the %s that owns the JobSet does not count spares", owner.Kind)
	case js.Spec.SuccessPolicy != nil && js.Spec.SuccessPolicy.Operator == v1alpha2.OperatorAny:
		return "a worker that finishes in a spare does not complete a Job, which the success policy Any requires; use All"
	case len(cmp.Or(js.Name, js.GenerateName+generated)+"-"+t.rjob.Name+longestSpare) > validation.DNS1035LabelMaxLength:
		return "the names of the JobSet and the replicatedJob are too long for the names of spares"
	case t.has(v1alpha2.ExclusiveKey):
		return "a spare has no place in a topology domain that belongs to one Job; remove " + v1alpha2.ExclusiveKey
	case e.Container >= 0 && e.Container < len(t.pod().Containers) && mountsBySlot(&t.pod().Containers[e.Container]):
		return "the subPathExpr of a mount contains the worker's index, which is not yet known when the volumes of a spare are mounted; append the index in the program"
	}
	return ""
}

var reference = regexp.MustCompile(`\$\(([^()]+)\)`)

// mountsBySlot reports whether the path of a mount contains a variable that depends on the slot, directly or through
// another variable.
func mountsBySlot(worker *corev1.Container) bool {
	bySlot := map[string]bool{}
	refers := func(text string) bool {
		return slices.ContainsFunc(reference.FindAllStringSubmatch(text, -1), func(parts []string) bool { return bySlot[parts[1]] })
	}
	for _, v := range slices.Concat(reserved, worker.Env) {
		bySlot[v.Name] = placeholderOf(v) != "" || refers(v.Value)
	}
	return slices.ContainsFunc(worker.VolumeMounts, func(m corev1.VolumeMount) bool { return refers(m.SubPathExpr) })
}

// First holds the number of Jobs that precede the first Job of a replicatedJob, in the JobSet and in the
// replicatedJob's group.
type First struct{ Global, Group int64 }

// Environment variables of a pod that may work in any slot of its replicatedJob.
const (
	envOwnJob      = "HOLDFAST_JOB_INDEX"
	envOwnIndex    = "HOLDFAST_COMPLETION_INDEX"
	envPodSlot     = "HOLDFAST_POD_SLOT"
	envFirstGlobal = "HOLDFAST_FIRST_JOB_GLOBAL_INDEX"
	envFirstGroup  = "HOLDFAST_FIRST_JOB_GROUP_INDEX"
	envSubdomain   = "HOLDFAST_SUBDOMAIN" // distinguishes host names from paths that contain the name of a slot
)

// flagOwnID identifies the pod by its own indexes, because the usual variables contain the slot's indexes.
const flagOwnID = "--worker-id=$(JOBSET_NAME)-$(REPLICATED_JOB_NAME)-$(" + envOwnJob + ")-$(" + envOwnIndex + ")"

// ownIdentity returns the variables for the pod's own position.
func ownIdentity(first First, subdomain string) []corev1.EnvVar {
	return []corev1.EnvVar{
		fromAnnotation(envOwnJob, v1alpha2.JobIndexKey),
		fromAnnotation(envOwnIndex, batchv1.JobCompletionIndexAnnotation),
		fromAnnotation(envPodSlot, v1alpha2.SlotKey),
		{Name: envFirstGlobal, Value: strconv.FormatInt(first.Global, 10)},
		{Name: envFirstGroup, Value: strconv.FormatInt(first.Group, 10)},
		{Name: envSubdomain, Value: subdomain},
	}
}

// placeholders maps the labels and annotations that depend on the slot to the placeholders that the supervisor replaces
// with their values.
var placeholders = map[string]string{
	v1alpha2.JobIndexKey:                 coordination.PlaceholderJob,
	batchv1.JobCompletionIndexAnnotation: coordination.PlaceholderPod,
	v1alpha2.JobGlobalIndexKey:           coordination.PlaceholderGlobal,
	v1alpha2.JobGroupIndexKey:            coordination.PlaceholderGroup,
}

// takeAnySlot replaces the values of the worker's environment variables that refer to a pod index with placeholders.
// The kubelet expands references to these variables, whether in other variables, the command or the arguments, to the
// same placeholders.
func takeAnySlot(worker *corev1.Container) {
	for i, v := range worker.Env {
		if placeholder := placeholderOf(v); placeholder != "" && v.Name != envOwnJob && v.Name != envOwnIndex {
			worker.Env[i] = corev1.EnvVar{Name: v.Name, Value: placeholder}
		}
	}
}

// placeholderOf returns the placeholder for the value of a variable, or "" if the value does not depend on the slot.
func placeholderOf(v corev1.EnvVar) string {
	if v.ValueFrom == nil || v.ValueFrom.FieldRef == nil {
		return ""
	}
	for key, placeholder := range placeholders {
		if path := v.ValueFrom.FieldRef.FieldPath; path == "metadata.annotations['"+key+"']" || path == "metadata.labels['"+key+"']" {
			return placeholder
		}
	}
	return ""
}

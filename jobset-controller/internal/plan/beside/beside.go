// Package beside plans in-place restarts for groups whose pods are created by other controllers. It decides which
// groups can have in-place restarts, and what is added to their Jobs or pods at creation. It performs no I/O.
//
//	Refusal   why a JobSet cannot have in-place restarts, based on the JobSet alone
//	Budget    how often the group of a JobSet may restart
//	Epoch     the generation of a Job that is being created
//	Prepare   adds to a Job of a JobSet what our own controller adds when it builds one (package inject)
//	Alone     does this for an Indexed Job without a JobSet
//	Lead      does this for the pod with index 0 of a group declared by its pods; Follow for the other pods
package beside

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/provenance"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/restart"
)

// Refusal returns why a JobSet that requests in-place restarts cannot have them, or "" if it can. The upstream
// controller accepts all of these JobSets.
func Refusal(js *v1alpha2.JobSet) string {
	if misplaced := Misplaced(js); misplaced != "" {
		return misplaced
	}
	if refused := js.Annotations[v1alpha2.RefusedKey]; refused != "" && inplace.IsPods(js) {
		return refused
	}
	problems := policy.ReadInPlace(js.Annotations).Problems
	if js.Spec.FailurePolicy == nil || inplace.IsPods(js) {
		policy.ReadRestarts(v1alpha2.MaxRestartsKey, js.Annotations, &problems)
	}
	if len(problems) > 0 {
		return problems[0].Error()
	}
	if policy.UsesAttempts(&js.Spec) {
		return fmt.Sprintf("spec.failurePolicy.restartStrategy: InPlaceRestart cannot be combined with annotation %s, which restarts in place in another way; remove one of them",
			v1alpha2.InPlaceTimeoutKey)
	}
	if inplace.IsAlone(js) && ptr.Deref(js.Spec.ReplicatedJobs[0].Template.Spec.ManualSelector, false) {
		return "spec.manualSelector: agents find their group by the labels that the API server adds without it; remove it"
	}
	a := inject.Assess(js)
	if len(a.Problems) == 0 && slices.ContainsFunc(a.Entries, func(e inject.Entry) bool { return e.Spares > 0 }) {
		return fmt.Sprintf("annotation %s: only Holdfast's own JobSet controller creates spares; remove it", v1alpha2.SparesKey)
	}
	if len(a.Problems) > 0 {
		return "no agent can be added to the pods: " + a.Problems[0].Error()
	}
	carries := inject.Carriers(js, a, nil)
	for i := range carries {
		carries[i] = carries[i] || a.Entries[i].Driver != inject.None
	}
	return inplace.TooLarge(inplace.Stages(js, nil, carries))
}

// Asks reports whether a JobSet, a LeaderWorkerSet or the pod with index 0 of a group requests in-place restarts, even
// with a value that cannot be parsed.
func Asks(owner metav1.Object) bool {
	_, said := owner.GetAnnotations()[v1alpha2.InPlaceTimeoutKey]
	return said
}

// Misplaced returns an error text if the JobSet has the annotation only on a template, where it has no effect. A
// TrainJob, for example, sets annotations on the pod template.
func Misplaced(js *v1alpha2.JobSet) string {
	if Asks(js) {
		return ""
	}
	key := v1alpha2.InPlaceTimeoutKey
	if inplace.IsAlone(js) {
		if _, found := js.Spec.ReplicatedJobs[0].Template.Spec.Template.Annotations[key]; found {
			return fmt.Sprintf("%s: it has no effect there; set it on the Job", field.NewPath("spec", "template", "metadata", "annotations").Key(key))
		}
		return ""
	}
	for i := range js.Spec.ReplicatedJobs {
		template, path := &js.Spec.ReplicatedJobs[i].Template, field.NewPath("spec", "replicatedJobs").Index(i).Child("template")
		if _, found := template.Spec.Template.Annotations[key]; found {
			return fmt.Sprintf("%s: it has no effect there; set it on the JobSet", path.Child("spec", "template", "metadata", "annotations").Key(key))
		}
		if _, found := template.Annotations[key]; found {
			return fmt.Sprintf("%s: it has no effect there; set it on the JobSet", path.Child("metadata", "annotations").Key(key))
		}
	}
	return ""
}

// Budget returns how often a group may restart. A JobSet without a failure policy, as created by Kubeflow Trainer, can
// set an annotation instead.
func Budget(js *v1alpha2.JobSet) restart.Budget {
	if js.Spec.FailurePolicy == nil {
		return restart.Budget(policy.ReadRestarts(v1alpha2.MaxRestartsKey, js.Annotations, &field.ErrorList{}))
	}
	return policy.Budget(&js.Spec)
}

// Epoch returns the generation of a Job that is being created. The upstream controller does not advance the generation
// when it recreates all Jobs. Until the orchestrator catches up, new Jobs belong to the generation that it will open.
func Epoch(js *v1alpha2.JobSet) epoch.Record {
	record, _ := epoch.Of(js.Annotations)
	s := &js.Status
	record, _ = record.Follow(policy.RestartCause(s.Restarts), record.Base, s.Restarts, s.RestartsCountTowardsMax)
	return record
}

func IsPrepared(job *batchv1.Job, installation string) bool {
	return job.Annotations[v1alpha2.LedByKey] == installation
}

// Other reports whether another installation leads the Job, or our own controller created it.
func Other(job *batchv1.Job, installation string) bool {
	by, claimed := job.Annotations[v1alpha2.LedByKey]
	_, ours := job.Annotations[epoch.Annotation]
	return (claimed && by != installation) || (!claimed && ours)
}

// Prepare adds agents to a Job that the upstream controller is creating, and marks it as prepared by the installation.
// It reports whether it changed the Job. current holds the existing Jobs of the attempt: if any of them has no agents,
// the group gets none.
func Prepare(js *v1alpha2.JobSet, current []*batchv1.Job, job *batchv1.Job, s inject.Settings, installation string) bool {
	rjob := slices.IndexFunc(js.Spec.ReplicatedJobs, func(r v1alpha2.ReplicatedJob) bool { return r.Name == job.Labels[v1alpha2.ReplicatedJobNameKey] })
	by := js.Annotations[v1alpha2.LedByKey]
	if rjob < 0 || !policy.ReadInPlace(js.Annotations).Enabled || by != "" && by != installation || Other(job, installation) || Refusal(js) != "" {
		return false
	}
	a := inject.Assess(js)
	lacks := slices.ContainsFunc(current, func(other *batchv1.Job) bool { return !IsPrepared(other, installation) })
	if lacks || s.Lacks(a) != "" {
		return false
	}
	mark(job, installation, "JobSet")
	number := epoch.FormatNumber(Epoch(js).Epoch)
	metav1.SetMetaDataAnnotation(&job.ObjectMeta, epoch.Annotation, number)
	metav1.SetMetaDataAnnotation(&job.Spec.Template.ObjectMeta, epoch.Annotation, number)
	inject.For(a, nil, s).Into(rjob, job, inject.First{})
	if a.Entries[rjob].Driver != inject.None {
		endInTime(job, &js.Spec.ReplicatedJobs[rjob].Template.Spec, Budget(js).Most())
	}
	return true
}

// Alone adds agents to an Indexed Job without a JobSet, and marks it as managed by the installation. It reports whether
// it prepared the Job, which must have a name. If the Job is a copy of another Job, Alone removes the annotations that
// programs wrote on the original.
func Alone(job *batchv1.Job, s inject.Settings, installation string) bool {
	provenance.DropOfJob(job.Annotations)
	js := inplace.OfJob(job)
	if !policy.ReadInPlace(js.Annotations).Enabled || js.Spec.ManagedBy != nil || Refusal(js) != "" {
		return false
	}
	a := inject.Assess(js)
	if s.Lacks(a) != "" {
		return false
	}
	template := job.Spec.DeepCopy()
	template.PodReplacementPolicy = nil // the API server has set the default
	js.Spec.ReplicatedJobs[0].Template.Spec = *template
	mark(job, installation, "Job")
	restarts := policy.Budget(&js.Spec)
	metav1.SetMetaDataAnnotation(&job.ObjectMeta, v1alpha2.MaxRestartsKey, strconv.Itoa(int(restarts)))
	for key, value := range inplace.PodIdentity(job.Name) {
		metav1.SetMetaDataAnnotation(&job.Spec.Template.ObjectMeta, key, value)
	}
	inject.For(a, nil, s).Into(0, job, inject.First{})
	if a.Entries[0].Driver != inject.None {
		endInTime(job, template, restarts.Most())
	}
	return true
}

func mark(job *batchv1.Job, installation, kind string) {
	metav1.SetMetaDataAnnotation(&job.ObjectMeta, v1alpha2.LedByKey, installation)
	metav1.SetMetaDataLabel(&job.Spec.Template.ObjectMeta, v1alpha2.GroupKindKey, kind)
}

// endInTime limits how many container restarts a Job survives: one for each worker and each failure that the budget
// allows, or the author's limit if that is higher. A group with a leader never reaches the limit. Without a leader, the
// Job eventually fails, and its owner handles that. The author's limit is read from the template, because the API
// server has already set defaults in the Job.
func endInTime(job *batchv1.Job, template *batchv1.JobSpec, failures int32) {
	workers := int64(ptr.Deref(job.Spec.Parallelism, 1))
	limit := max(int64(ptr.Deref(template.BackoffLimit, 6)), int64(failures)*workers)
	job.Spec.BackoffLimit = ptr.To(int32(min(limit, math.MaxInt32)))
	if template.PodReplacementPolicy == nil {
		job.Spec.PodReplacementPolicy = ptr.To(batchv1.Failed)
	}
}

package beside

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// lone returns an Indexed Job with four pods, as the API server passes it to webhooks.
func lone(change func(*batchv1.Job)) *batchv1.Job {
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "train", Annotations: map[string]string{v1alpha2.InPlaceTimeoutKey: "60s"}},
		Spec: batchv1.JobSpec{
			Parallelism: ptr.To[int32](4), Completions: ptr.To[int32](4), CompletionMode: ptr.To(batchv1.IndexedCompletion), BackoffLimit: ptr.To[int32](3),
			ManualSelector: ptr.To(false), PodReplacementPolicy: ptr.To(batchv1.TerminatingOrFailed),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "worker", Image: "train:1", Command: []string{"train"}}},
			}},
		},
	}
	if change != nil {
		change(job)
	}
	return job
}

func TestIndexedJobIsPrepared(t *testing.T) {
	s := settings
	s.StoreACL = true
	job := lone(nil)
	if !Alone(job, s, me) {
		t.Fatal(Refusal(inplace.OfJob(job)))
	}
	if got := job.Annotations[v1alpha2.MaxRestartsKey]; got != "3" || *job.Spec.BackoffLimit != 16 {
		t.Errorf("%s restarts, and a backoffLimit of %d; want those of the author, and one for each worker and failure", got, *job.Spec.BackoffLimit)
	}
	if got := *job.Spec.PodReplacementPolicy; got != batchv1.Failed {
		t.Errorf("pods are replaced when they are %s", got)
	}
	template := job.Spec.Template
	if template.Labels[v1alpha2.GroupKindKey] != "Job" || template.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
		t.Errorf("the pods are %+v", template)
	}
	env := map[string]string{}
	for _, v := range template.Spec.Containers[0].Env {
		if v.ValueFrom != nil {
			env[v.Name] = v.ValueFrom.FieldRef.FieldPath
		}
	}
	if env["JOBSET_UID"] != "metadata.labels['batch.kubernetes.io/controller-uid']" {
		t.Errorf("the agent's group is %q", env["JOBSET_UID"])
	}
	if got := template.Spec.Volumes[1].Secret.SecretName; got != "holdfast-job-store-train" {
		t.Errorf("the Secret is %s", got)
	}
}

// A prepared Job is represented as a group. Its pods are named after its slots, and it has the restarts that its author
// allows.
func TestPreparedIndexedJobIsReadAsAGroup(t *testing.T) {
	job := lone(nil)
	Alone(job, settings, me)
	js, child := inplace.OfJob(job), inplace.ChildOf(job)
	stages := inplace.Stages(js, []*batchv1.Job{&child}, inject.Carriers(js, inject.Assess(js), []*batchv1.Job{&child}))
	want := []coordination.Stage{{Prefix: "train-workers", Jobs: 1, Pods: 4, Release: coordination.ReleaseNeeded}}
	if diff := cmp.Diff(want, stages); diff != "" {
		t.Error(diff)
	}
	pod := &corev1.Pod{ObjectMeta: job.Spec.Template.ObjectMeta}
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, batchv1.JobCompletionIndexAnnotation, "2")
	if slot := inplace.SlotOf(pod); slot != stages[0].Slot(0, 2) || child.Name+"-2" != slot {
		t.Errorf("the pod of index 2 is for %q, its Job is %s", slot, child.Name)
	}
	if js.Spec.FailurePolicy.MaxRestarts != 3 {
		t.Errorf("%d restarts", js.Spec.FailurePolicy.MaxRestarts)
	}
}

func TestIndexedJobIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*batchv1.Job)
		why    string
	}{
		"a bad annotation":      {func(job *batchv1.Job) { job.Annotations[v1alpha2.InPlaceTimeoutKey] = "soon" }, `"soon"`},
		"not Indexed":           {func(job *batchv1.Job) { job.Spec.CompletionMode = ptr.To(batchv1.NonIndexedCompletion) }, "spec.completionMode: Invalid value"},
		"not all at once":       {func(job *batchv1.Job) { job.Spec.Parallelism = ptr.To[int32](2) }, "spec.completions: Invalid value"},
		"a selector of its own": {func(job *batchv1.Job) { job.Spec.ManualSelector = ptr.To(true) }, "spec.manualSelector"},
		"no command":            {func(job *batchv1.Job) { job.Spec.Template.Spec.Containers[0].Command = nil }, "spec.template.spec.containers[0].command"},
		"too many pods": {func(job *batchv1.Job) {
			job.Spec.Parallelism, job.Spec.Completions = ptr.To[int32](1<<20+1), ptr.To[int32](1<<20+1)
		}, "exceed the limit"},
		"only on the pod":         {func(job *batchv1.Job) { job.Annotations, job.Spec.Template.Annotations = nil, job.Annotations }, "spec.template.metadata.annotations[alpha.jobset.sigs.k8s.io/inplace-timeout]: it has no effect there"},
		"failures for each index": {func(job *batchv1.Job) { job.Spec.BackoffLimitPerIndex = ptr.To[int32](1) }, "spec.backoffLimitPerIndex"},
	} {
		t.Run(name, func(t *testing.T) {
			job := lone(c.change)
			before := job.DeepCopy()
			if got := Refusal(inplace.OfJob(job)); !strings.Contains(got, c.why) || strings.Contains(got, "replicatedJobs") || strings.Contains(got, "JobSet") {
				t.Errorf("%q does not contain %q, or mentions a JobSet", got, c.why)
			}
			if Alone(job, settings, me) {
				t.Error("the Job is prepared")
			}
			if diff := cmp.Diff(before, job); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestIndexedJobOfAnotherControllerIsUnchanged(t *testing.T) {
	job := lone(func(job *batchv1.Job) { job.Spec.ManagedBy = ptr.To("kueue.x-k8s.io/multikueue") })
	if Alone(job, settings, me) {
		t.Error("the Job is prepared")
	}
}

package plan

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// Builder builds the Jobs of one JobSet for its current attempt and generation.
type Builder struct {
	jobSet *v1alpha2.JobSet
	layout Layout
	epoch  int32
	agents inject.Plan
	// countsSingle: every Job carries the number of its single restarts, even if it is 0.
	countsSingle bool
}

// NewBuilder returns a Builder for a JobSet. It does not change the JobSet.
func NewBuilder(js *v1alpha2.JobSet, current epoch.Record) *Builder {
	return &Builder{jobSet: js, layout: NewLayout(js), epoch: current.Epoch}
}

// Adding makes the Builder add the planned agents.
func (b *Builder) Adding(agents inject.Plan) *Builder {
	b.agents = agents
	return b
}

// CountingSingleRestarts makes the Builder write on every Job how often the Job was restarted alone, as the published controller
// does with its feature gate RestartJob.
func (b *Builder) CountingSingleRestarts(on bool) *Builder {
	b.countsSingle = on
	return b
}

// Job builds the Job with the given index of the replicatedJob spec.replicatedJobs[rjobIndex].
func (b *Builder) Job(rjobIndex, index int) *batchv1.Job {
	return b.build(rjobIndex, JobName(b.jobSet.Name, b.jobSet.Spec.ReplicatedJobs[rjobIndex].Name, index), b.identity(rjobIndex, index))
}

// build builds a Job with the given name and identity.
func (b *Builder) build(rjobIndex int, name string, identity map[string]string) *batchv1.Job {
	js, rjob := b.jobSet, &b.jobSet.Spec.ReplicatedJobs[rjobIndex]
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name:            name,
			Namespace:       js.Namespace,
			OwnerReferences: []metav1.OwnerReference{ownedBy(js)},
		},
		Spec: *rjob.Template.Spec.DeepCopy(),
	}
	b.decorate(job, rjob, identity)
	job.Spec.Suspend = ptr.To(ptr.Deref(js.Spec.Suspend, false))
	enqueue(job, js)
	Defaults(&job.Spec)
	if WantsService(js) {
		job.Spec.Template.Spec.Subdomain = Subdomain(js)
	}
	addClaims(js, &job.Spec.Template.Spec)
	pinToReservedNodes(job)
	first := b.layout.starts[rjobIndex]
	b.agents.Into(rjobIndex, job, inject.First{Global: first.global, Group: first.group})
	return job
}

func (b *Builder) decorate(job *batchv1.Job, rjob *v1alpha2.ReplicatedJob, identity map[string]string) {
	inherited := placement(b.jobSet)
	own := merged(identity, map[string]string{epoch.Annotation: epoch.FormatNumber(b.epoch)})
	job.Labels = merged(rjob.Template.Labels, identity)
	job.Annotations = merged(inherited, rjob.Template.Annotations, own)

	pod := &job.Spec.Template
	pod.Labels = merged(pod.Labels, identity)
	pod.Annotations = merged(pod.Annotations, placementOf(job), own)
}

// placementOf returns the placement annotations of the Job, which its pods repeat.
func placementOf(job *batchv1.Job) map[string]string {
	return placement(&v1alpha2.JobSet{ObjectMeta: metav1.ObjectMeta{Annotations: job.Annotations}})
}

// Defaults sets the defaults of the published webhook: Jobs are Indexed, and their pods restart on failure.
func Defaults(spec *batchv1.JobSpec) {
	if spec.CompletionMode == nil {
		spec.CompletionMode = ptr.To(batchv1.IndexedCompletion)
	}
	if spec.Template.Spec.RestartPolicy == "" {
		spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	}
}

func ownedBy(js *v1alpha2.JobSet) metav1.OwnerReference {
	return *metav1.NewControllerRef(js, v1alpha2.GroupVersion.WithKind("JobSet"))
}

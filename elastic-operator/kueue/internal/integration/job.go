package integration

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/features"
	"sigs.k8s.io/kueue/pkg/podset"
	"sigs.k8s.io/kueue/pkg/workload"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/indexes"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/plan"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
)

// GVK of the jobs.
var GVK = v1alpha1.GroupVersion.WithKind(v1alpha1.Kind)

// PodSet is the name of the one pod set of a job.
const PodSet = kueue.PodSetReference(v1alpha1.ReplicaTypeWorker)

// slices is the annotation by which users ask for workload slices. Kueue's validation keeps them for kinds of its own: its manager would
// refuse such a workload, or leave the pods gated for ever.
const slices = "kueue.x-k8s.io/elastic-job"

// Job is an ElasticJob as Kueue sees it.
type Job v1alpha1.ElasticJob

var (
	_ jobframework.GenericJob              = (*Job)(nil)
	_ jobframework.JobWithPodLabelSelector = (*Job)(nil)
	_ jobframework.JobWithReclaimablePods  = (*Job)(nil)
	_ jobframework.JobWithManagedBy        = (*Job)(nil)
	_ jobframework.JobWithSkip             = (*Job)(nil)
)

// NewJob makes an empty one.
func NewJob() jobframework.GenericJob { return &Job{} }

func (j *Job) job() *v1alpha1.ElasticJob { return (*v1alpha1.ElasticJob)(j) }

// Object is the ElasticJob.
func (j *Job) Object() client.Object { return j.job() }

// GVK of the job.
func (j *Job) GVK() schema.GroupVersionKind { return GVK }

// IsSuspended is what the spec says.
func (j *Job) IsSuspended() bool { return j.Spec.Suspend }

// Suspend takes the grant back too: what comes next is another admission.
func (j *Job) Suspend() { j.Spec.Suspend, j.Spec.GrantedReplicas = true, nil }

// Skip jobs that ask for workload slices.
func (j *Job) Skip(context.Context) bool {
	return j.Annotations[slices] == "true"
}

// PodSets is one: as many workers as are wanted, or minReplicas if there is no room for all. While the job runs it is as many as were
// granted: another number would end the admission, and with it the training. A change of replicas counts at the next admission, and a
// smaller number at once for the pods. Until the quota of an admission is given back it is as many as were asked for: Kueue deletes a
// workload that says something else, with the quota of pods that still run and its place in the queue.
func (j *Job) PodSets(ctx context.Context, c client.Client) ([]kueue.PodSet, error) {
	spec := j.job().Spec.DeepCopy()
	granted := spec.GrantedReplicas
	spec.GrantedReplicas = nil
	s := policy.Read(&v1alpha1.ElasticJob{Spec: *spec})
	set := kueue.PodSet{
		Name: PodSet, Template: *spec.ReplicaSpecs.Worker.Template.PodTemplateSpec.DeepCopy(), Count: int32(s.Wanted),
		MinCount: ptr.To(int32(s.Min)), // also if it is all of them: it must not come and go with replicas
	}
	if j.IsSuspended() {
		asked, err := j.askedFor(ctx, c)
		if err != nil {
			return nil, err
		}
		set.Count = ptr.Deref(asked, set.Count)
	} else if granted != nil {
		set.Count = *granted
	}
	if features.Enabled(features.TopologyAwareScheduling) {
		request, err := jobframework.NewPodSetTopologyRequest(&set.Template.ObjectMeta).PodIndexLabel(ptr.To(v1alpha1.ReplicaIndexLabel)).Build()
		if err != nil {
			return nil, err
		}
		set.TopologyRequest = request
	}
	return []kueue.PodSet{set}, nil
}

// askedFor is the count of the workload that holds quota for the job, nil if none does.
func (j *Job) askedFor(ctx context.Context, c client.Client) (*int32, error) {
	var workloads kueue.WorkloadList
	if err := c.List(ctx, &workloads, client.InNamespace(j.Namespace), jobframework.OwnerReferenceIndexFieldMatcher(GVK, j.Name)); err != nil {
		return nil, fmt.Errorf("listing the workloads of %s/%s: %w", j.Namespace, j.Name, err)
	}
	for i := range workloads.Items {
		w := &workloads.Items[i]
		if metav1.IsControlledBy(w, j.job()) && workload.HasQuotaReservation(w) && len(w.Spec.PodSets) == 1 {
			return &w.Spec.PodSets[0].Count, nil
		}
	}
	return nil, nil
}

// RunWithPodSetsInfo starts the job with as many workers as were admitted, where they were admitted.
func (j *Job) RunWithPodSetsInfo(ctx context.Context, _ client.Client, infos []podset.PodSetInfo) error {
	if len(infos) != 1 {
		return podset.BadPodSetsInfoLenError(1, len(infos))
	}
	j.Spec.Suspend, j.Spec.GrantedReplicas = false, ptr.To(infos[0].Count)
	template := &j.Spec.ReplicaSpecs.Worker.Template
	return podset.Merge(ctrl.LoggerFrom(ctx), &template.ObjectMeta, &template.Spec, infos[0])
}

// RestorePodSetsInfo undoes that.
func (j *Job) RestorePodSetsInfo(_ context.Context, infos []podset.PodSetInfo) bool {
	if len(infos) != 1 {
		return false
	}
	changed := j.Spec.GrantedReplicas != nil
	j.Spec.GrantedReplicas = nil
	template := &j.Spec.ReplicaSpecs.Worker.Template
	return podset.RestorePodSpec(&template.ObjectMeta, &template.Spec, infos[0]) || changed
}

// Finished tells how the job ended, if it has.
func (j *Job) Finished(context.Context) (message string, success, finished bool) {
	for _, c := range j.Status.Conditions {
		if c.Status == metav1.ConditionTrue && (c.Type == v1alpha1.JobSucceeded || c.Type == v1alpha1.JobFailed) {
			return c.Message, c.Type == v1alpha1.JobSucceeded, true
		}
	}
	return "", true, false
}

// IsActive: there are pods that have not ended, or there may be: the operator has not seen the latest spec of a job that it runs.
func (j *Job) IsActive() bool {
	unseen := j.Status.ObservedGeneration != j.Generation && j.Status.State != "" && j.Status.State != v1alpha1.StateSuspended
	return j.Status.Replicas > 0 || unseen
}

// PodsReady: the training goes on with minReplicas workers. Waiting for all of them would evict a healthy job when it has lost one.
func (j *Job) PodsReady(context.Context, client.Client) bool {
	return int(j.Status.ReadyReplicas)+len(j.completed()) >= policy.Read(j.job()).Min
}

// ReclaimablePods are those of workers that have completed. They do not run again.
func (j *Job) ReclaimablePods(context.Context, client.Client) ([]kueue.ReclaimablePod, error) {
	if n := len(j.completed()); n > 0 {
		return []kueue.ReclaimablePod{{Name: PodSet, Count: int32(n)}}, nil
	}
	return nil, nil
}

// completed workers among those that are wanted: what was scaled away is not given back twice.
func (j *Job) completed() indexes.Set {
	completed, _ := indexes.Parse(j.Status.CompletedIndexes)
	wanted, _ := indexes.Parse(j.Status.Indexes)
	return completed.Only(wanted)
}

// PodLabelSelector finds the workers.
func (j *Job) PodLabelSelector() string { return plan.Selector(j.Name) }

// CanDefaultManagedBy tells whether nobody else has been named.
func (j *Job) CanDefaultManagedBy() bool {
	return features.Enabled(features.MultiKueue) && ptr.Deref(j.Spec.ManagedBy, v1alpha1.ControllerName) == v1alpha1.ControllerName
}

// ManagedBy names the controller that answers for the job.
func (j *Job) ManagedBy() *string { return j.Spec.ManagedBy }

// SetManagedBy names it.
func (j *Job) SetManagedBy(name *string) { j.Spec.ManagedBy = name }

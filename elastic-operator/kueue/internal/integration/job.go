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

// appWrappers is the group of AppWrappers, of which the library here knows nothing.
const appWrappers = "workload.codeflare.dev"

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

// Skip jobs that ask for workload slices, and parts of AppWrappers without a queue of their own: these hold the quota of all their parts.
// Who holds quota already is never skipped, nor one that is being deleted: it would keep the quota for ever.
func (j *Job) Skip(context.Context) bool {
	if j.Spec.GrantedReplicas != nil || !j.DeletionTimestamp.IsZero() {
		delete(j.Annotations, slices) // of the copy that is worked on: the library would resize a slice that is none
		return false
	}
	return j.Annotations[slices] == "true" || j.wrapped()
}

// wrapped: an AppWrapper controls the job, and no queue is named.
func (j *Job) wrapped() bool {
	owner := metav1.GetControllerOf(j.job())
	if owner == nil || jobframework.QueueName(j) != "" {
		return false
	}
	group, err := schema.ParseGroupVersion(owner.APIVersion)
	return err == nil && group.Group == appWrappers
}

// PodSets is one: as many workers as are wanted, or minReplicas if there is no room for all. While the job runs it is as many as were
// admitted: another number would end the admission, and with it the training. A change of replicas counts at the next admission, and a
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
	if j.IsSuspended() || granted != nil {
		holder, err := j.holder(ctx, c)
		if err != nil {
			return nil, err
		}
		set.Count = j.count(holder, granted, set.Count)
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

// count of the pod set, with the workload that holds quota, what was granted, and what is wanted.
func (j *Job) count(holder *kueue.Workload, granted *int32, wanted int32) int32 {
	switch {
	case j.IsSuspended() && holder != nil:
		return holder.Spec.PodSets[0].Count
	case j.IsSuspended():
		return wanted
	case holder == nil || !j.continues(holder, *granted):
		return *granted
	case workload.CanBePartiallyAdmitted(holder):
		return *admitted(holder)
	}
	return holder.Spec.PodSets[0].Count // Kueue expects all of them, whatever was admitted
}

// continues: the grant is what was admitted and workers that had completed before, for which no quota was asked again.
func (j *Job) continues(holder *kueue.Workload, granted int32) bool {
	count := admitted(holder)
	if count == nil {
		return false
	}
	before := granted - *count
	return before > 0 && int(before) <= len(j.completed())
}

// admitted is the number of pods of the admission, nil if it is not one of one pod set.
func admitted(holder *kueue.Workload) *int32 {
	if a := holder.Status.Admission; a != nil && len(a.PodSetAssignments) == 1 {
		return a.PodSetAssignments[0].Count
	}
	return nil
}

// holder is the workload that holds quota for the job, nil if none does.
func (j *Job) holder(ctx context.Context, c client.Client) (*kueue.Workload, error) {
	var workloads kueue.WorkloadList
	if err := c.List(ctx, &workloads, client.InNamespace(j.Namespace), jobframework.OwnerReferenceIndexFieldMatcher(GVK, j.Name)); err != nil {
		return nil, fmt.Errorf("listing the workloads of %s/%s: %w", j.Namespace, j.Name, err)
	}
	for i := range workloads.Items {
		w := &workloads.Items[i]
		if metav1.IsControlledBy(w, j.job()) && workload.HasQuotaReservation(w) && len(w.Spec.PodSets) == 1 {
			return w, nil
		}
	}
	return nil, nil
}

// RunWithPodSetsInfo starts the job with as many workers as were admitted, where they were admitted, and those that completed before an
// eviction: Kueue has subtracted them, and what is granted is a total.
func (j *Job) RunWithPodSetsInfo(ctx context.Context, _ client.Client, infos []podset.PodSetInfo) error {
	if len(infos) != 1 {
		return podset.BadPodSetsInfoLenError(1, len(infos))
	}
	j.Spec.Suspend, j.Spec.GrantedReplicas = false, ptr.To(infos[0].Count+int32(len(j.completed())))
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

// PodsReady: the training goes on with minReplicas workers. Waiting for all of them would evict a healthy job when it has lost one. Where
// some have completed, and none of the others runs, it does not go on.
func (j *Job) PodsReady(context.Context, client.Client) bool {
	ready, completed, wanted := int(j.Status.ReadyReplicas), j.completed(), policy.Read(j.job())
	return !j.Spec.Suspend && ready+len(completed) >= wanted.Min && (ready > 0 || len(completed) >= wanted.Wanted)
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

// CanDefaultManagedBy reports whether nobody else has been named.
func (j *Job) CanDefaultManagedBy() bool {
	return features.Enabled(features.MultiKueue) && ptr.Deref(j.Spec.ManagedBy, v1alpha1.ControllerName) == v1alpha1.ControllerName
}

// ManagedBy names the controller that answers for the job.
func (j *Job) ManagedBy() *string { return j.Spec.ManagedBy }

// SetManagedBy names it.
func (j *Job) SetManagedBy(name *string) { j.Spec.ManagedBy = name }

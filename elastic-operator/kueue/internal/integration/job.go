// Package integration integrates ElasticJobs with Kueue as a job kind. The program is optional and in a separate module, because Kueue's
// library is large, changes with every minor version, and pins the versions of other libraries.
//
// The integration and the operator communicate only through the ElasticJob API. The integration suspends and resumes jobs, sets
// spec.grantedReplicas to the number of admitted workers, and reports to Kueue when workers are ready and when the job has finished. The
// operator does not start pods of a job with a queue label until spec.grantedReplicas is set. Therefore the two programs may start in any
// order, and no webhook is needed.
package integration

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	configapi "sigs.k8s.io/kueue/apis/config/v1beta2"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/features"
	"sigs.k8s.io/kueue/pkg/podset"
	"sigs.k8s.io/kueue/pkg/workload"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/indexes"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
)

// GVK is the GroupVersionKind of ElasticJob.
var GVK = v1alpha1.GroupVersion.WithKind(v1alpha1.Kind)

// PodSet is the name of a job's only pod set.
const PodSet = kueue.PodSetReference(v1alpha1.ReplicaTypeWorker)

// slicesAnnotation enables workload slices, which Kueue supports only for its built-in kinds: it would reject an ElasticJob's workload, or
// never remove the scheduling gates of its pods.
const slicesAnnotation = "kueue.x-k8s.io/elastic-job"

// appWrapperGroup is the API group of AppWrappers. Kueue's library does not define it.
const appWrapperGroup = "workload.codeflare.dev"

// Job adapts an ElasticJob to Kueue's job interfaces.
type Job v1alpha1.ElasticJob

var (
	_ jobframework.GenericJob             = (*Job)(nil)
	_ jobframework.JobWithReclaimablePods = (*Job)(nil)
	_ jobframework.JobWithSkip            = (*Job)(nil)
)

// NewJob returns an empty job.
func NewJob() jobframework.GenericJob { return &Job{} }

func (j *Job) job() *v1alpha1.ElasticJob { return (*v1alpha1.ElasticJob)(j) }

// Object returns the ElasticJob.
func (j *Job) Object() client.Object { return j.job() }

// GVK returns the job's kind.
func (j *Job) GVK() schema.GroupVersionKind { return GVK }

// IsSuspended reports whether the spec suspends the job.
func (j *Job) IsSuspended() bool { return j.Spec.Suspend }

// Suspend suspends the job and removes grantedReplicas, which the next admission sets again.
func (j *Job) Suspend() { j.Spec.Suspend, j.Spec.GrantedReplicas = true, nil }

// Skip reports whether Kueue must ignore the job. This is the case if the job requests workload slices, or if it is part of an AppWrapper
// and has no queue, because the AppWrapper holds the quota for all its components. A job that has quota or is being deleted is never
// ignored, because its quota would never be released.
func (j *Job) Skip(context.Context) bool {
	if j.Spec.GrantedReplicas != nil || !j.DeletionTimestamp.IsZero() {
		delete(j.Annotations, slicesAnnotation) // in this copy only, so that the framework does not resize a slice
		return false
	}
	return j.Annotations[slicesAnnotation] == "true" || j.wrapped()
}

// wrapped reports whether the job is part of an AppWrapper and has no queue.
func (j *Job) wrapped() bool {
	owner := metav1.GetControllerOf(j.job())
	if owner == nil || jobframework.QueueName(j) != "" {
		return false
	}
	group, err := schema.ParseGroupVersion(owner.APIVersion)
	return err == nil && group.Group == appWrapperGroup
}

// PodSets returns one pod set with the desired number of workers. Kueue may admit fewer, but not fewer than minReplicas.
//
// While the job is running, the count is the admitted one, because Kueue evicts a job whose pod set differs from the admitted one. A change
// to replicas therefore takes effect at the next admission. A reduction also applies to the pods immediately. While a suspended job still
// has quota, the count is the requested one, because Kueue deletes a workload whose pod set differs from the job's. The quota of pods that
// are still running and the position in the queue would be lost with it.
func (j *Job) PodSets(ctx context.Context, c client.Client) ([]kueue.PodSet, error) {
	spec := j.job().Spec.DeepCopy()
	granted := spec.GrantedReplicas
	spec.GrantedReplicas = nil
	s := policy.Read(&v1alpha1.ElasticJob{Spec: *spec})
	set := kueue.PodSet{
		Name: PodSet, Template: *spec.ReplicaSpecs.Worker.Template.PodTemplateSpec.DeepCopy(), Count: int32(s.Wanted),
		MinCount: ptr.To(int32(s.Min)), // always set, so that a change to replicas does not add or remove it
	}
	if j.IsSuspended() || granted != nil {
		w, err := j.workloadWithQuota(ctx, c)
		if err != nil {
			return nil, err
		}
		set.Count = j.count(w, granted, set.Count)
	}
	if spec.MinReplicas == nil { // such a job is never partially admitted, and both counts in its workload are equal
		set.MinCount = ptr.To(set.Count)
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

// count returns the pod set's count. w is the job's workload with quota, or nil.
func (j *Job) count(w *kueue.Workload, granted *int32, desired int32) int32 {
	switch {
	case j.IsSuspended() && w != nil:
		return w.Spec.PodSets[0].Count
	case j.IsSuspended():
		return desired
	case w == nil || !j.includesCompleted(w, *granted):
		return *granted
	case workload.CanBePartiallyAdmitted(w):
		return *admittedCount(w)
	}
	return w.Spec.PodSets[0].Count // Kueue compares with the requested count
}

// includesCompleted reports whether granted is the admitted count plus the workers that had completed before the admission, for which no
// quota was reserved.
func (j *Job) includesCompleted(w *kueue.Workload, granted int32) bool {
	count := admittedCount(w)
	if count == nil {
		return false
	}
	before := granted - *count
	return before > 0 && int(before) <= len(j.completed()) && granted <= w.Spec.PodSets[0].Count
}

// admittedCount returns the number of admitted pods, or nil if the workload has no admission with exactly one pod set.
func admittedCount(w *kueue.Workload) *int32 {
	if a := w.Status.Admission; a != nil && len(a.PodSetAssignments) == 1 {
		return a.PodSetAssignments[0].Count
	}
	return nil
}

// workloadWithQuota returns the job's workload that has a quota reservation, or nil.
func (j *Job) workloadWithQuota(ctx context.Context, c client.Client) (*kueue.Workload, error) {
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

// RunWithPodSetsInfo starts the job with the admitted number of workers and the admitted scheduling constraints. grantedReplicas is a
// total. Kueue subtracts the workers that completed before an eviction, so they are added again. Workers that completed later are among the
// admitted ones, so the total never exceeds the requested number.
func (j *Job) RunWithPodSetsInfo(ctx context.Context, c client.Client, infos []podset.PodSetInfo) error {
	if len(infos) != 1 {
		return podset.BadPodSetsInfoLenError(1, len(infos))
	}
	w, err := j.workloadWithQuota(ctx, c)
	if err != nil {
		return err
	}
	granted := infos[0].Count + int32(len(j.completed()))
	if w != nil {
		granted = min(granted, w.Spec.PodSets[0].Count)
	}
	j.Spec.Suspend, j.Spec.GrantedReplicas = false, &granted
	template := &j.Spec.ReplicaSpecs.Worker.Template
	return podset.Merge(ctrl.LoggerFrom(ctx), &template.ObjectMeta, &template.Spec, infos[0])
}

// RestorePodSetsInfo undoes RunWithPodSetsInfo and reports whether the job has changed.
func (j *Job) RestorePodSetsInfo(_ context.Context, infos []podset.PodSetInfo) bool {
	if len(infos) != 1 {
		return false
	}
	changed := j.Spec.GrantedReplicas != nil
	j.Spec.GrantedReplicas = nil
	template := &j.Spec.ReplicaSpecs.Worker.Template
	return podset.RestorePodSpec(&template.ObjectMeta, &template.Spec, infos[0]) || changed
}

// Finished reports whether and how the job has finished.
func (j *Job) Finished(context.Context) (message string, success, finished bool) {
	for _, c := range j.Status.Conditions {
		if c.Status == metav1.ConditionTrue && (c.Type == v1alpha1.JobSucceeded || c.Type == v1alpha1.JobFailed) {
			return c.Message, c.Type == v1alpha1.JobSucceeded, true
		}
	}
	return "", true, false
}

// IsActive reports whether pods of the job may be running. This is also the case if the operator has not observed the latest spec of a
// running job.
func (j *Job) IsActive() bool {
	outdated := j.Status.ObservedGeneration != j.Generation && j.Status.State != "" && j.Status.State != v1alpha1.StateSuspended
	return j.Status.Replicas > 0 || outdated
}

// PodsReady reports whether at least minReplicas workers are ready or completed. If it required all workers, Kueue would evict a healthy
// job that has lost one of them. At least one worker must be ready unless all have completed.
func (j *Job) PodsReady(context.Context, client.Client) bool {
	ready, completed, settings := int(j.Status.ReadyReplicas), j.completed(), policy.Read(j.job())
	return !j.Spec.Suspend && ready+len(completed) >= settings.Min && (ready > 0 || len(completed) >= settings.Wanted)
}

// ReclaimablePods returns the pods of completed workers, which do not run again.
func (j *Job) ReclaimablePods(context.Context, client.Client) ([]kueue.ReclaimablePod, error) {
	if n := len(j.completed()); n > 0 {
		return []kueue.ReclaimablePod{{Name: PodSet, Count: int32(n)}}, nil
	}
	return nil, nil
}

// completed returns the completed workers that are still desired. The quota of workers that were removed by scaling down is not reclaimed
// again.
func (j *Job) completed() indexes.Set {
	completed, _ := indexes.Parse(j.Status.CompletedIndexes)
	wanted, _ := indexes.Parse(j.Status.Indexes)
	return completed.Intersect(wanted)
}

// +kubebuilder:rbac:groups=elastic.pytorch.org,resources=elasticjobs,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=elastic.pytorch.org,resources=elasticjobs/status,verbs=get
// +kubebuilder:rbac:groups=elastic.pytorch.org,resources=elasticjobs/finalizers,verbs=get;update
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads/status,verbs=get;patch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads/finalizers,verbs=update
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=resourceflavors;workloadpriorityclasses,verbs=get;list;watch
// +kubebuilder:rbac:groups=scheduling.k8s.io,resources=priorityclasses,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch

// managerName identifies the integration as the reporter of events and as a manager of jobs.
const managerName = "elastic-kueue"

// Options configures the controller. The options must match the configuration of Kueue's manager.
type Options struct {
	// WaitForPodsReady makes the integration report to Kueue when enough pods are ready. If Kueue waits for that report and does not
	// receive it, Kueue evicts every job.
	WaitForPodsReady bool
	// ManageWithoutQueue also suspends jobs without a queue until Kueue admits them.
	ManageWithoutQueue bool
	// Namespaces selects the namespaces in which jobs without a queue are managed.
	Namespaces labels.Selector
}

// Register adds the controller to a manager. Kueue's framework names it elasticjob.
func (o Options) Register(ctx context.Context, mgr ctrl.Manager) error {
	if err := jobframework.SetupWorkloadOwnerIndex(ctx, mgr.GetFieldIndexer(), GVK); err != nil {
		return fmt.Errorf("adding the index of workloads by their owner: %w", err)
	}
	reconciler, err := jobframework.NewGenericReconcilerFactory(NewJob)(ctx, mgr.GetClient(), mgr.GetFieldIndexer(), mgr.GetEventRecorder(managerName), o.framework(mgr)...)
	if err != nil {
		return fmt.Errorf("creating the controller: %w", err)
	}
	return reconciler.SetupWithManager(mgr)
}

// framework returns the options for Kueue's framework. They must include a scheduler cache, which may be empty. Without one, the program
// panics when a job's pods become ready.
func (o Options) framework(mgr ctrl.Manager) []jobframework.Option {
	options := []jobframework.Option{
		jobframework.WithManageJobsWithoutQueueName(o.ManageWithoutQueue),
		jobframework.WithManagedJobsNamespaceSelector(o.Namespaces),
		jobframework.WithCache(schdcache.New(mgr.GetClient())),
		jobframework.WithManagerName(managerName),
	}
	if o.WaitForPodsReady {
		options = append(options, jobframework.WithWaitForPodsReady(&configapi.WaitForPodsReady{}))
	}
	return options
}

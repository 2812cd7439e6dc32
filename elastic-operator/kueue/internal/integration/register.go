package integration

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	configapi "sigs.k8s.io/kueue/apis/config/v1beta2"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
)

// +kubebuilder:rbac:groups=elastic.pytorch.org,resources=elasticjobs,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=elastic.pytorch.org,resources=elasticjobs/status,verbs=get
// +kubebuilder:rbac:groups=elastic.pytorch.org,resources=elasticjobs/finalizers,verbs=get;update
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads/status,verbs=get;patch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads/finalizers,verbs=update
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=resourceflavors;workloadpriorityclasses,verbs=get;list;watch
// +kubebuilder:rbac:groups=scheduling.k8s.io,resources=priorityclasses,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// managerName identifies the integration as the reporter of events and as a manager of jobs.
const managerName = "elastic-kueue"

// Options configures the controller. The options must match the configuration of Kueue's manager.
type Options struct {
	// WaitForPodsReady makes the integration report to Kueue when enough pods are ready. If Kueue waits for that report and does not get
	// it, it evicts every job.
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
	if err := reconciler.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("adding the controller: %w", err)
	}
	return nil
}

// framework returns the options of Kueue's framework. It needs a scheduler cache, which may be empty: without one, the program
// panics when the pods of a job become ready.
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

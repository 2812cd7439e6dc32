package app

import (
	"context"
	"fmt"
	"os"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
)

// Run leads until ctx ends. It returns an error if it could not start or lost the Lease.
func Run(ctx context.Context, o Options) error {
	rc, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("no cluster to work on: %w", err)
	}
	store, err := valkey.New(valkey.Options{
		Address: o.ValkeyAddress, Username: o.ValkeyUsername, PasswordFile: o.ValkeyPasswordFile,
		ClientName: "holdfast-orchestrator",
	})
	if err != nil {
		return err
	}
	defer store.Close()
	identity := identity()
	mgr, err := newManager(o.limit(rc), o, identity)
	if err != nil {
		return err
	}
	lease := &orchestrator.Lease{
		Live: mgr.GetAPIReader(), Identity: identity,
		Key: types.NamespacedName{Namespace: o.LeaseNamespace, Name: o.LeaseName},
	}
	if err := register(ctx, mgr, store, lease, o.Workers); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// register lists all that runs.
func register(ctx context.Context, mgr ctrl.Manager, store coordination.Leader, lease *orchestrator.Lease, workers int) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha2.JobSet{}, orchestrator.UIDIndex, orchestrator.IndexByUID); err != nil {
		return fmt.Errorf("indexing JobSets: %w", err)
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, orchestrator.PodsOfJobSet, orchestrator.IndexByJobSet); err != nil {
		return fmt.Errorf("indexing pods: %w", err)
	}
	wakeups := orchestrator.NewWakeups(mgr.GetClient(), store)
	reconciler := &orchestrator.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Store: store, Tokens: lease,
		Recorder: mgr.GetEventRecorder("holdfast-orchestrator"), Clock: clock.RealClock{},
	}
	if err := reconciler.Register(mgr, wakeups.Source(), workers); err != nil {
		return err
	}
	if err := mgr.Add(wakeups); err != nil {
		return err
	}
	return mgr.Add(&orchestrator.Sweep{
		Cache: mgr.GetClient(), Live: mgr.GetAPIReader(), Store: store, Tokens: lease, Every: 30 * time.Second,
	})
}

func newManager(rc *rest.Config, o Options, identity string) (ctrl.Manager, error) {
	lock, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, o.LeaseNamespace, o.LeaseName,
		resourcelock.ResourceLockConfig{Identity: identity}, rc, o.LeaseDuration/3)
	if err != nil {
		return nil, fmt.Errorf("preparing the Lease: %w", err)
	}
	renew, retry := o.LeaseDuration*2/3, o.LeaseDuration/8
	mgr, err := ctrl.NewManager(rc, ctrl.Options{
		Scheme:                              scheme(),
		Cache:                               caches(),
		Metrics:                             server.Options{BindAddress: o.MetricsAddress},
		HealthProbeBindAddress:              o.HealthAddress,
		LeaderElection:                      true,
		LeaderElectionResourceLockInterface: lock,
		LeaderElectionReleaseOnCancel:       true,
		LeaseDuration:                       &o.LeaseDuration,
		RenewDeadline:                       &renew,
		RetryPeriod:                         &retry,
	})
	if err != nil {
		return nil, fmt.Errorf("preparing the orchestrator: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, err
	}
	return mgr, mgr.AddReadyzCheck("ping", healthz.Ping)
}

// caches holds JobSets, and only the Jobs and pods of JobSets; of pods only what is read.
func caches() cache.Options {
	ofJobSets, err := labels.NewRequirement(v1alpha2.JobSetNameKey, selection.Exists, nil)
	utilruntime.Must(err)
	selected := labels.NewSelector().Add(*ofJobSets)
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&batchv1.Job{}: {Label: selected},
			&corev1.Pod{}:  {Label: selected, Transform: orchestrator.StripPod},
		},
	}
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(coordinationv1.AddToScheme(s))
	utilruntime.Must(v1alpha2.AddToScheme(s))
	return s
}

func identity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return host + "_" + string(uuid.NewUUID())
}

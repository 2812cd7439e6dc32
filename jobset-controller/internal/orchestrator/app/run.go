package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/credentials"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/owners"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/webhook"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
	"github.com/holdfast-project/holdfast/shared/bootstrap/podcache"
	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
)

// Run runs the orchestrator until ctx is done. It returns an error if it could not start or has lost the Lease.
func (o *Options) Run(ctx context.Context, cluster *rest.Config) error {
	mgr, err := bootstrap.New(cluster, &o.Options, bootstrap.Setup{
		Program: "orchestrator", Scheme: scheme(), Cache: o.caches(), Webhooks: o.addWebhooks,
	})
	if err != nil {
		return err
	}
	if err := o.copySecrets(ctx, mgr); err != nil {
		return err
	}
	o.Store.ClientName = "holdfast-orchestrator"
	o.Store.OnLost = func(err error) {
		log.FromContext(ctx).Error(err, "store subscription lost, falling back to periodic resync")
	}
	store, err := valkey.New(o.Store)
	if err != nil {
		return err
	}
	defer store.Close()
	if err := mgr.AwaitKind(ctx, v1alpha2.GroupVersion.WithKind("JobSet")); err != nil {
		return err
	}
	lease := &orchestrator.Lease{
		Live: mgr.GetAPIReader(), Identity: mgr.Identity,
		Key: types.NamespacedName{Namespace: o.Leader.Namespace, Name: o.Leader.Name},
	}
	if err := o.register(ctx, mgr, store, lease); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// installation returns the name of this installation, with which the orchestrator marks objects.
func (o *Options) installation() string { return o.Leader.Namespace + "/" + o.Leader.Name }

func (o *Options) addWebhooks(mgr ctrl.Manager) error {
	jobs := &webhook.Jobs{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Agents: o.Agents, Installation: o.installation()}
	pods := &webhook.Pods{Live: mgr.GetAPIReader(), Agents: o.Agents, Installation: o.installation()}
	return errors.Join(
		ctrl.NewWebhookManagedBy(mgr, &batchv1.Job{}).WithDefaulter(jobs).Complete(),
		ctrl.NewWebhookManagedBy(mgr, &corev1.Pod{}).WithDefaulter(pods).Complete(),
	)
}

func (o *Options) register(ctx context.Context, mgr *bootstrap.Manager, store *valkey.Store, lease *orchestrator.Lease) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, orchestrator.PodsOfGroup, orchestrator.IndexByGroup); err != nil {
		return fmt.Errorf("indexing pods: %w", err)
	}
	groups, known := orchestrator.NewGroups(clock.RealClock{}), &owners.Lister{Beside: o.Webhooks, Elastic: o.ElasticJobs}
	o.Registry.MustRegister(groups)
	metrics := orchestrator.NewMetrics(o.Registry)
	wakeups := &orchestrator.Wakeups{Store: store, Groups: groups, Metrics: metrics}
	var users orchestrator.Credentials
	if o.ValkeyACL {
		keeper := o.keeper(mgr, store, known)
		users, wakeups.Connected = keeper, keeper.Restore
		if err := mgr.Add(bootstrap.Every(10*time.Second, "cleaning up store users failed", keeper.Sweep)); err != nil {
			return err
		}
	}
	leader := func(kind orchestrator.Kind) *orchestrator.Reconciler {
		return &orchestrator.Reconciler{
			Kind: kind, Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Store: store, Tokens: lease, Groups: groups, Metrics: metrics,
			Recorder: mgr.GetEventRecorder("holdfast-orchestrator"), Clock: clock.RealClock{}, Users: users,
		}
	}
	kinds := []orchestrator.Kind{orchestrator.JobSets} // managed by our controller or, with webhooks, by the upstream controller
	if o.Webhooks {
		by := o.installation()
		kinds = []orchestrator.Kind{orchestrator.Beside(by), orchestrator.Alone(by), orchestrator.Pods(by)}
		if err := mgr.Add(bootstrap.Every(30*time.Second, "checking for groups without agents failed", leader(orchestrator.Pods(by)).NoteUnprepared)); err != nil {
			return err
		}
	}
	for _, kind := range kinds {
		if err := leader(kind).Register(mgr, wakeups.Source(kind)); err != nil {
			return err
		}
	}
	if o.ElasticJobs {
		elasticJobs, source := leader(orchestrator.ElasticJobs), wakeups.Source(orchestrator.ElasticJobs)
		if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { // JobSets are already being managed
			if known.AwaitElasticJobs(ctx, mgr.GetAPIReader()) != nil {
				return nil // ctx is done
			}
			log.FromContext(ctx).Info("managing in-place restarts of ElasticJobs")
			return elasticJobs.Register(mgr, source)
		})); err != nil {
			return err
		}
	}
	if err := mgr.Add(wakeups); err != nil {
		return err
	}
	sweep := &orchestrator.Sweep{Cache: mgr.GetClient(), Live: mgr.GetAPIReader(), Store: store, Tokens: lease, Owners: known}
	return mgr.Add(bootstrap.Every(30*time.Second, "cleaning up the store failed", sweep.Once))
}

func (o *Options) keeper(mgr ctrl.Manager, store *valkey.Store, known *owners.Lister) *credentials.Keeper {
	return &credentials.Keeper{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Users: store, Clock: clock.RealClock{},
		Recorder: mgr.GetEventRecorder("holdfast-orchestrator"),
		Owners:   known, CAFile: o.Store.TLS.CA, MaxAge: o.ValkeyPasswordMaxAge,
	}
}

// caches limits the cache to JobSets and their Jobs and pods, and keeps only the pod fields that the orchestrator uses.
// It lists pods in pages, so that a start with many pods does not need memory for all of them in full. With webhooks,
// it contains the pods prepared by the webhooks, and all Jobs, because a Job without a JobSet requests in-place
// restarts by an annotation.
func (o *Options) caches() cache.Options {
	kept := podcache.Strip(orchestrator.TrimPod)
	jobs := cache.ByObject{Label: podcache.HasLabel(v1alpha2.JobSetNameKey)}
	pods := cache.ByObject{Label: podcache.HasLabel(v1alpha2.JobSetNameKey), Transform: kept.Transform}
	if o.Webhooks {
		jobs, pods.Label = cache.ByObject{Transform: podcache.Each(orchestrator.TrimJob)}, podcache.HasLabel(v1alpha2.GroupKindKey)
	}
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		NewInformer:      kept.NewInformer,
		ByObject:         map[client.Object]cache.ByObject{&batchv1.Job{}: jobs, &corev1.Pod{}: pods},
	}
}

func scheme() *runtime.Scheme { return bootstrap.NewScheme(v1alpha2.AddToScheme) }

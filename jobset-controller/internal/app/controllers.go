// Package app sets up the JobSet manager: its flags, its caches, and the controllers and webhooks that run in it.
package app

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/controller/jobset"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/controller/placement"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/webhook"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod controller-gen rbac:roleName=manager-role,fileName=manager.yaml paths=. paths=../controller/... output:rbac:dir=../../../charts/jobset-controller/files/rbac
//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod controller-gen webhook paths=../webhook/... output:webhook:dir=../../../charts/jobset-controller/files/webhook

func (o *Options) addControllers(ctx context.Context, mgr ctrl.Manager) error {
	if err := jobset.AddIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return fmt.Errorf("adding indexes: %w", err)
	}
	if err := o.Registry.Register(jobset.NewBudgets(mgr.GetClient())); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	jobSets := jobset.New(jobset.Options{
		Client:   mgr.GetClient(),
		Live:     mgr.GetAPIReader(),
		Recorder: mgr.GetEventRecorder(jobset.Name),
		Metrics:  jobset.NewMetrics(o.Registry),
		Features: o.features(),
		Agents:   o.Agents,
		Places:   o.Webhooks,
	})
	if err := jobSets.Register(mgr); err != nil {
		return fmt.Errorf("adding the %s controller: %w", jobset.Name, err)
	}
	if err := placement.AddIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return fmt.Errorf("adding indexes: %w", err)
	}
	if err := placement.New(mgr.GetClient(), mgr.GetEventRecorder(placement.Name)).Register(mgr); err != nil {
		return fmt.Errorf("adding the %s controller: %w", placement.Name, err)
	}
	return nil
}

func (o *Options) addWebhooks(mgr ctrl.Manager) error {
	if err := webhook.RegisterJobSet(mgr, mgr.GetAPIReader(), o.Agents, o.features()); err != nil {
		return fmt.Errorf("adding the JobSet webhook: %w", err)
	}
	if err := webhook.RegisterPod(mgr, placement.Domains{Client: mgr.GetClient()}); err != nil {
		return fmt.Errorf("adding the pod webhooks: %w", err)
	}
	return nil
}

// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,namespace=system,verbs=get;create;update
// +kubebuilder:rbac:groups="",resources=secrets,namespace=system,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=secrets,resourceNames=jobset-webhook-server-cert,namespace=system,verbs=get;update
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations;mutatingwebhookconfigurations,verbs=list;watch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations,resourceNames=jobset-validating-webhook-configuration,verbs=get;update
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,resourceNames=jobset-mutating-webhook-configuration,verbs=get;update

// Run manages JobSets until ctx is done. It returns an error if the CustomResourceDefinition of JobSets is not
// installed.
func (o *Options) Run(ctx context.Context, cluster *rest.Config) error {
	return bootstrap.Manage(ctx, cluster, &o.Options, bootstrap.Setup{
		Program: "jobset", Scheme: NewScheme(), Cache: jobset.CacheOptions(o.features()),
		Webhooks: o.addWebhooks,
	}, o.addControllers, v1alpha2.GroupVersion.WithKind("JobSet"))
}

// NewScheme returns a scheme with the kinds that the manager reads and writes.
func NewScheme() *runtime.Scheme { return bootstrap.NewScheme(v1alpha2.AddToScheme) }

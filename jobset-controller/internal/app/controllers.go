// Package app sets up the JobSet manager: its flags, its caches, and the controllers and webhooks that run in it.
package app

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/controller/jobset"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/controller/placement"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/webhook"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod controller-gen rbac:roleName=manager-role,fileName=manager.yaml paths=. paths=github.com/holdfast-project/holdfast/shared/bootstrap paths=../controller/... output:rbac:dir=../../../charts/jobset-controller/files/rbac
//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod controller-gen webhook paths=../webhook/... output:webhook:dir=../../../charts/jobset-controller/files/webhook

func (o *Options) addControllers(_ context.Context, mgr ctrl.Manager) error {
	o.Registry.MustRegister(jobset.NewBudgets(mgr.GetClient()))
	jobSets := jobset.New(jobset.Options{
		Client:   mgr.GetClient(),
		Live:     mgr.GetAPIReader(),
		Recorder: mgr.GetEventRecorder(jobset.Name),
		Metrics:  jobset.NewMetrics(o.Registry),
		Features: o.features(),
		Agents:   o.Agents,
		Places:   o.Webhooks,
	})
	return errors.Join(jobSets.Register(mgr), placement.New(mgr.GetClient(), mgr.GetEventRecorder(placement.Name)).Register(mgr))
}

func (o *Options) addWebhooks(mgr ctrl.Manager) error {
	return errors.Join(
		webhook.RegisterJobSet(mgr, mgr.GetAPIReader(), o.Agents, o.features()),
		webhook.RegisterPod(mgr, placement.Domains{Client: mgr.GetClient()}),
	)
}

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
		Indexes: []bootstrap.Index{jobset.AddIndexes, placement.AddIndexes}, Webhooks: o.addWebhooks,
	}, o.addControllers, v1alpha2.GroupVersion.WithKind("JobSet"))
}

// NewScheme returns a scheme with the kinds that the manager reads and writes.
func NewScheme() *runtime.Scheme { return bootstrap.NewScheme(v1alpha2.AddToScheme) }

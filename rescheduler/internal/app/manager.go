// Package app builds the rescheduler's manager: its flags, configuration file, caches, controllers and webhook.
package app

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-project/holdfast/rescheduler/internal/controller/rescheduling"
	"github.com/holdfast-project/holdfast/rescheduler/internal/nodes"
	"github.com/holdfast-project/holdfast/rescheduler/internal/owners"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/webhook"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod controller-gen rbac:roleName=manager-role,fileName=manager.yaml paths=. paths=github.com/holdfast-project/holdfast/shared/bootstrap paths=../controller/... paths=../webhook/... output:rbac:dir=../../../charts/rescheduler/files/rbac
//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod controller-gen webhook paths=../webhook/... output:webhook:dir=../../../charts/rescheduler/files/webhook

// +kubebuilder:rbac:groups="",resources=secrets,namespace=system,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=secrets,resourceNames=rescheduler-webhook-server-cert,namespace=system,verbs=get;update
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,verbs=list;watch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,resourceNames=rescheduler-mutating-webhook-configuration,verbs=get;update

// Run runs the manager until ctx is done.
func (o *Options) Run(ctx context.Context, cluster *rest.Config) error {
	handler := &webhook.Handler{Failed: &webhook.Failures{}, Clock: clock.RealClock{}, Config: o.Rescheduling}
	return bootstrap.Manage(ctx, cluster, &o.Options, bootstrap.Setup{
		Program: "rescheduler", Scheme: bootstrap.NewScheme(), Cache: rescheduling.CacheOptions(o.Rescheduling.Namespaces...),
		Indexes:  []bootstrap.Index{rescheduling.AddIndexes},
		Webhooks: func(mgr ctrl.Manager) error { webhook.Register(mgr, handler); return nil },
	}, func(ctx context.Context, mgr ctrl.Manager) error { return o.add(ctx, mgr, handler) })
}

// add adds the controllers to the manager, and passes the objects that they share with the webhook to its handler.
func (o *Options) add(ctx context.Context, mgr ctrl.Manager, handler *webhook.Handler) error {
	ledger := owners.NewLedger()
	handler.Owners = owners.NewResolver(mgr.GetCache(), mgr.GetAPIReader(), clock.RealClock{}, ledger)
	handler.Nodes, handler.Leads = nodes.NewLister(mgr.GetClient(), clock.RealClock{}), leads(mgr)
	handler.Count = webhook.Counter(o.Registry)
	if err := handler.Failed.Watch(ctx, mgr.GetCache(), o.Rescheduling.Table(), clock.RealClock{}); err != nil {
		return err
	}
	pods := rescheduling.New(rescheduling.Options{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Nodes: handler.Nodes, Owners: handler.Owners, Ledger: ledger,
		Recorder: mgr.GetEventRecorder(rescheduling.Name), Registry: o.Registry,
		Clock: clock.RealClock{}, Config: o.Rescheduling,
	})
	handler.Owners.Notify(pods.Wake)
	return pods.Register(mgr)
}

// leads reports whether this process is the leader. A process that loses the Lease exits.
func leads(mgr ctrl.Manager) func() bool {
	return func() bool {
		select {
		case <-mgr.Elected():
			return true
		default:
			return false
		}
	}
}

// Configuration is the content of the file given by --config: the settings shared by all managers, and the rescheduling key.
type Configuration struct {
	metav1.TypeMeta  `json:",inline"`
	bootstrap.Config `json:",inline"`

	Rescheduling *settings.Rescheduling `json:"rescheduling,omitempty"`
}

// Options holds the settings from the command line and the configuration file.
type Options struct {
	bootstrap.Options

	Rescheduling settings.Rescheduling
}

// NewOptions returns the default options.
func NewOptions() *Options {
	o := &Options{Options: bootstrap.Defaults(), Rescheduling: settings.Default()}
	o.Leader.Name = "rescheduler.holdfast.dev"
	o.ServeWebhooks("rescheduler")
	o.Certificates.Validating = nil
	return o
}

// Complete reads the configuration file. The error lists everything that is wrong with it.
func (o *Options) Complete(set *pflag.FlagSet) error {
	file := Configuration{Config: o.Config(), Rescheduling: &o.Rescheduling}
	if err := bootstrap.ReadStrictConfig(o.ConfigFile, set, &file); err != nil {
		return err
	}
	errs := o.Options.Complete(set, file.Config)
	if err := o.Rescheduling.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("rescheduling: %w", err))
	}
	return bootstrap.Join(errs)
}

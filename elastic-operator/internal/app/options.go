// Package app sets up the elastic operator's manager: its flags, its configuration file, its cache and its controller.
package app

import (
	"context"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/controller/elasticjob"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/plan"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
)

// leaseName differs from the name used by the upstream controller, whose leader election uses a ConfigMap and no longer works.
const leaseName = "elastic-operator.holdfast.dev"

// Options holds the settings from the command line and the configuration file.
type Options struct {
	bootstrap.Options

	// RendezvousImage is the managed rendezvous server's image. If it is empty, every job needs an rdzvEndpoint.
	RendezvousImage string
	// Agents configures in-place restarts.
	Agents plan.Agents
}

// Configuration is the content of the file given by --config.
type Configuration struct {
	metav1.TypeMeta  `json:",inline"`
	bootstrap.Config `json:",inline"`

	RendezvousImage *string      `json:"rendezvousImage,omitempty"` // --rendezvous-image
	InPlace         *plan.Agents `json:"inPlace,omitempty"`
}

// NewOptions returns the default options.
func NewOptions() *Options {
	o := &Options{Options: bootstrap.Defaults()}
	o.Leader.Name = leaseName
	return o
}

// Flags registers the flags.
func (o *Options) Flags(set *pflag.FlagSet) {
	o.Options.Flags(set)
	set.StringVar(&o.RendezvousImage, "rendezvous-image", o.RendezvousImage,
		"image of the managed rendezvous server; if empty, every ElasticJob needs spec.rdzvEndpoint")
	set.StringSliceVar(&o.Agents.PullSecrets, "image-pull-secrets", nil,
		"pull Secrets in the namespaces of ElasticJobs, added to rendezvous server pods and to workers with a supervisor")
	supervise.Flags(set, &o.Agents.Store, &o.Agents.StoreACL, &o.Agents.ExecImage, v1alpha1.Kind)
}

// Complete reads the configuration file. The error lists all invalid settings.
func (o *Options) Complete(set *pflag.FlagSet) error {
	file := Configuration{Config: o.Config(), RendezvousImage: &o.RendezvousImage, InPlace: &o.Agents}
	if err := bootstrap.ReadStrictConfig(o.ConfigFile, set, &file); err != nil {
		return err
	}
	return bootstrap.Join(append(o.Options.Complete(set, file.Config), o.Agents.Store.Check(o.Agents.StoreACL, v1alpha1.Kind)...))
}

//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod controller-gen rbac:roleName=manager-role,fileName=manager.yaml paths=. paths=github.com/holdfast-project/holdfast/shared/bootstrap paths=../controller/... output:rbac:dir=../../../charts/elastic-operator/files/rbac

// Run manages ElasticJobs until ctx is done. It fails if the API server does not serve ElasticJobs in time.
func (o *Options) Run(ctx context.Context, cluster *rest.Config) error {
	return bootstrap.Manage(ctx, cluster, &o.Options, bootstrap.Setup{
		Program: "elastic-operator", Scheme: bootstrap.NewScheme(v1alpha1.AddToScheme), Cache: elasticjob.CacheOptions(),
		Indexes: []bootstrap.Index{elasticjob.AddIndexes},
	}, o.addControllers, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))
}

func (o *Options) addControllers(_ context.Context, mgr ctrl.Manager) error {
	jobs := elasticjob.New(elasticjob.Options{
		Client:          mgr.GetClient(),
		Live:            mgr.GetAPIReader(),
		Recorder:        mgr.GetEventRecorder(elasticjob.Name),
		Metrics:         elasticjob.NewMetrics(o.Registry),
		RendezvousImage: o.RendezvousImage,
		Agents:          o.Agents,
		Rendezvous:      elasticjob.HTTPRendezvous,
	})
	return jobs.Register(mgr)
}

// Package app sets up the manager of the Kueue integration: its flags, its cache and its controller.
package app

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/kueue/internal/integration"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

const (
	leaseName = "elastic-kueue.holdfast.dev"
	// managedNamespaces is Kueue's default.
	managedNamespaces = "kubernetes.io/metadata.name notin (kube-system,kueue-system)"
)

// Options holds the settings from the command line. Most of them must match the configuration of Kueue's manager.
type Options struct {
	bootstrap.Options

	Integration integration.Options

	namespaces string
	gates      string
}

// NewOptions returns Kueue's defaults.
func NewOptions() *Options {
	o := &Options{Options: bootstrap.Defaults(), Integration: integration.Options{WaitForPodsReady: true}, namespaces: managedNamespaces}
	o.Leader.Name = leaseName
	return o
}

// Flags registers the flags.
func (o *Options) Flags(set *pflag.FlagSet) {
	o.Options.Flags(set)
	set.BoolVar(&o.Integration.WaitForPodsReady, "wait-for-pods-ready", o.Integration.WaitForPodsReady, "report to Kueue when minReplicas workers are ready; set it to the same value as Kueue's waitForPodsReady.enable")
	set.BoolVar(&o.Integration.ManageWithoutQueue, "manage-jobs-without-queue-name", o.Integration.ManageWithoutQueue, "manage jobs without a queue name; set it to the same value as Kueue's manageJobsWithoutQueueName")
	set.StringVar(&o.namespaces, "managed-jobs-namespace-selector", o.namespaces, "namespaces in which jobs without a queue name are managed; set it to the same value as Kueue's managedJobsNamespaceSelector")
	set.StringVar(&o.gates, "kueue-feature-gates", o.gates, "Kueue's feature gates; set them to the same values as in Kueue's manager")
}

// Complete returns an error that lists all invalid settings.
func (o *Options) Complete(set *pflag.FlagSet) error {
	if o.ConfigFile != "" {
		return fmt.Errorf("--config: elastic-kueue has no configuration file, use flags")
	}
	errs := o.Options.Complete(set, bootstrap.Config{})
	selector, err := labels.Parse(o.namespaces)
	if err != nil {
		errs = append(errs, fmt.Errorf("--managed-jobs-namespace-selector: %w", err))
	}
	o.Integration.Namespaces = selector
	if err := utilfeature.DefaultMutableFeatureGate.Set(o.gates); err != nil {
		errs = append(errs, fmt.Errorf("--kueue-feature-gates: %w", err))
	}
	return bootstrap.Join(errs)
}

//go:generate env GOWORK=off go tool -modfile=../../../../tools/codegen/go.mod controller-gen rbac:roleName=kueue-role,fileName=kueue.yaml paths=. paths=github.com/holdfast-project/holdfast/shared/bootstrap paths=../integration output:rbac:dir=../../../../charts/elastic-operator/files/rbac

// Run integrates ElasticJobs with Kueue until ctx is done. It fails if the API server does not serve both kinds in time.
func (o *Options) Run(ctx context.Context, cluster *rest.Config) error {
	return bootstrap.Manage(ctx, cluster, &o.Options, bootstrap.Setup{
		Program: "elastic-kueue", Scheme: bootstrap.NewScheme(v1alpha1.AddToScheme, kueue.AddToScheme),
		Cache: cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
	}, o.Integration.Register, integration.GVK, kueue.SchemeGroupVersion.WithKind("Workload"))
}

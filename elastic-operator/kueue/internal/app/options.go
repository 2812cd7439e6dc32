package app

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

const (
	leaseName = "elastic-kueue.holdfast.dev"
	// managedNamespaces is Kueue's own default.
	managedNamespaces = "kubernetes.io/metadata.name notin (kube-system,kueue-system)"
)

// Options is what the command line sets. Most of it has to be as in the configuration of Kueue's manager.
type Options struct {
	bootstrap.Options

	// WaitForPodsReady reports to Kueue when enough pods are ready. If Kueue waits for that report and there is none, it evicts every job.
	WaitForPodsReady bool
	// ManageWithoutQueue: suspend jobs without a queue too.
	ManageWithoutQueue bool
	// Namespaces in which jobs without a queue are managed.
	Namespaces labels.Selector

	namespaces string
	gates      string
}

// NewOptions has Kueue's defaults.
func NewOptions() *Options {
	o := &Options{Options: bootstrap.Defaults(), WaitForPodsReady: true, namespaces: managedNamespaces}
	o.Leader.Name = leaseName
	return o
}

// Flags registers the flags.
func (o *Options) Flags(set *pflag.FlagSet) {
	o.Options.Flags(set)
	set.BoolVar(&o.WaitForPodsReady, "wait-for-pods-ready", o.WaitForPodsReady, "as waitForPodsReady.enable of Kueue: tell it when minReplicas workers are ready")
	set.BoolVar(&o.ManageWithoutQueue, "manage-jobs-without-queue-name", o.ManageWithoutQueue, "as manageJobsWithoutQueueName of Kueue")
	set.StringVar(&o.namespaces, "managed-jobs-namespace-selector", o.namespaces, "as managedJobsNamespaceSelector of Kueue")
	set.StringVar(&o.gates, "kueue-feature-gates", o.gates, "feature gates of Kueue, as its manager has them")
}

// Complete returns all that is wrong.
func (o *Options) Complete(set *pflag.FlagSet) error {
	if o.ConfigFile != "" {
		return fmt.Errorf("--config: this program has flags only")
	}
	errs := o.Options.Complete(set, bootstrap.Config{})
	selector, err := labels.Parse(o.namespaces)
	if err != nil {
		errs = append(errs, fmt.Errorf("--managed-jobs-namespace-selector: %w", err))
	}
	o.Namespaces = selector
	if err := utilfeature.DefaultMutableFeatureGate.Set(o.gates); err != nil {
		errs = append(errs, fmt.Errorf("--kueue-feature-gates: %w", err))
	}
	return bootstrap.Join(errs)
}

// Logging is what the zap flags say.
func (o *Options) Logging() *zap.Options { return &o.Zap }

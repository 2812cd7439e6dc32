// Package helm installs charts in a cluster, like the helm program.
package helm

import (
	"context"
	"fmt"
	"time"

	"helm.sh/helm/v4/pkg/action"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/cli"
	"helm.sh/helm/v4/pkg/kube"
)

// Values is the content of a values file.
type Values = map[string]any

// Release is one installation of a chart.
type Release struct {
	Name string
	// Namespace is created by Install if it does not exist.
	Namespace string
	// Chart is the directory of the chart.
	Chart string
	// Kubeconfig is the path of the cluster's kubeconfig.
	Kubeconfig string
	// Adopt takes over existing objects, such as a CRD that was applied or was kept by another release.
	Adopt bool
	// Patience is how long Install, Upgrade and Uninstall wait until all objects are ready or gone. The default is two
	// minutes.
	Patience time.Duration
}

// Install installs the chart and returns once all its objects are ready.
func (r Release) Install(ctx context.Context, values Values) error {
	configuration, c, err := r.prepare()
	if err != nil {
		return err
	}
	install := action.NewInstall(configuration)
	install.ReleaseName, install.Namespace, install.CreateNamespace = r.Name, r.Namespace, true
	install.TakeOwnership, install.ForceConflicts = r.Adopt, r.Adopt
	install.WaitStrategy, install.Timeout = kube.StatusWatcherStrategy, r.patience()
	if _, err := install.RunWithContext(ctx, c, values); err != nil {
		return fmt.Errorf("installing release %s: %w", r.Name, err)
	}
	return nil
}

// Upgrade updates an installed release to the given values and the current chart. It returns once all objects are
// ready.
func (r Release) Upgrade(ctx context.Context, values Values) error {
	configuration, c, err := r.prepare()
	if err != nil {
		return err
	}
	upgrade := action.NewUpgrade(configuration)
	upgrade.Namespace, upgrade.ResetValues = r.Namespace, true
	upgrade.WaitStrategy, upgrade.Timeout = kube.StatusWatcherStrategy, r.patience()
	if _, err := upgrade.RunWithContext(ctx, r.Name, c, values); err != nil {
		return fmt.Errorf("upgrading release %s: %w", r.Name, err)
	}
	return nil
}

// Uninstall removes the release's objects, except those that the chart keeps, and returns once they are gone. A missing
// release is not an error.
func (r Release) Uninstall() error {
	configuration, err := r.configuration()
	if err != nil {
		return err
	}
	uninstall := action.NewUninstall(configuration)
	uninstall.IgnoreNotFound = true
	uninstall.DeletionPropagation = "foreground"
	// The default watcher stops as soon as one object is gone if it has not seen the others yet, and reports an error
	// if they appear later. The legacy strategy polls instead.
	uninstall.WaitStrategy, uninstall.Timeout = kube.LegacyStrategy, r.patience()
	if _, err := uninstall.Run(r.Name); err != nil {
		return fmt.Errorf("uninstalling release %s: %w", r.Name, err)
	}
	return nil
}

func (r Release) patience() time.Duration {
	if r.Patience == 0 {
		return 2 * time.Minute
	}
	return r.Patience
}

func (r Release) prepare() (*action.Configuration, *chart.Chart, error) {
	configuration, err := r.configuration()
	if err != nil {
		return nil, nil, err
	}
	c, err := loader.LoadDir(r.Chart)
	if err != nil {
		return nil, nil, fmt.Errorf("loading chart %s: %w", r.Chart, err)
	}
	return configuration, c, nil
}

// configuration stores releases in Secrets, as helm does.
func (r Release) configuration() (*action.Configuration, error) {
	settings := cli.New()
	settings.KubeConfig = r.Kubeconfig
	settings.SetNamespace(r.Namespace)
	configuration := action.NewConfiguration()
	if err := configuration.Init(settings.RESTClientGetter(), r.Namespace, "secret"); err != nil {
		return nil, fmt.Errorf("preparing helm: %w", err)
	}
	return configuration, nil
}

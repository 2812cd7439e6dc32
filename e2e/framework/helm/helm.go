// Package helm installs charts on a cluster as the helm program does.
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

// Values are what a user would write into a values file.
type Values = map[string]any

// Release is one installation of a chart.
type Release struct {
	Name string
	// Namespace is created by Install if it is not there.
	Namespace string
	// Chart is the folder of the chart.
	Chart string
	// Kubeconfig is the file that leads to the cluster.
	Kubeconfig string
	// Adopt takes over objects that are there already, such as a CRD that was applied or that another release left.
	Adopt bool
	// Patience is how long Install, Upgrade and Uninstall wait until all is ready or gone; two minutes if zero.
	Patience time.Duration
}

// Install installs the chart and returns once all that it made is ready.
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

// Upgrade changes an installed release to the values, and to the chart as it is now. It returns once all is ready.
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

// Uninstall removes what the release made, but for what the chart keeps, and returns once it is gone. A release that is
// not there is no error.
func (r Release) Uninstall() error {
	configuration, err := r.configuration()
	if err != nil {
		return err
	}
	uninstall := action.NewUninstall(configuration)
	uninstall.IgnoreNotFound = true
	uninstall.DeletionPropagation = "foreground"
	// The watcher gives up as soon as it has seen one object go and none of the others yet, and then calls it an error if it
	// hears of them after all; asking again and again does not.
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

// configuration keeps releases in Secrets, as helm does.
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

package framework

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/holdfast-project/holdfast/e2e/testbed/binaries"
)

// PublishedManager is an upstream JobSet manager that runs alongside ours or replaces it.
type PublishedManager struct {
	Command  []string
	Webhooks string // file with its webhook configurations
}

// PublishedAddresses holds the addresses at which the upstream JobSet manager serves.
type PublishedAddresses struct {
	WebhookPort     int
	Metrics, Health string
	// Kubeconfig is the kubeconfig of its account. The default is that of the cluster's administrator.
	Kubeconfig string
}

// PublishedAgent builds the agent for the upstream controller's InPlaceRestart, unless it exists, and returns its
// path.
func (env *Environment) PublishedAgent(ctx context.Context) (string, error) {
	agent := binaries.PublishedJobSetAgent()
	_, err := binaries.Build(ctx, env.Cluster.Layout().Bin(), []binaries.Component{agent}, os.Stderr)
	return filepath.Join(env.Cluster.Layout().Bin(), agent.Name), err
}

// PublishedManager builds the upstream JobSet manager, unless it exists. It configures the manager with its defaults
// and InPlaceRestart, without leader election.
func (env *Environment) PublishedManager(ctx context.Context, at PublishedAddresses) (PublishedManager, error) {
	if _, err := binaries.Build(ctx, env.Cluster.Layout().Bin(), []binaries.Component{binaries.PublishedJobSet()}, os.Stderr); err != nil {
		return PublishedManager{}, err
	}
	module, err := binaries.ModuleDir(ctx, binaries.JobSetModule, "sigs.k8s.io/jobset")
	if err != nil {
		return PublishedManager{}, err
	}
	certificates, err := env.ServingFolder()
	if err != nil {
		return PublishedManager{}, err
	}
	config := filepath.Join(certificates, "config.yaml")
	content := fmt.Sprintf(`apiVersion: config.jobset.x-k8s.io/v1alpha1
kind: Configuration
webhook: {port: %d, certDir: %s}
leaderElection: {leaderElect: false}
featureGates: {InPlaceRestart: true}
metrics: {bindAddress: "%s"}
health: {healthProbeBindAddress: "%s"}
internalCertManagement: {enable: false}
`, at.WebhookPort, certificates, at.Metrics, at.Health)
	if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
		return PublishedManager{}, err
	}
	return PublishedManager{
		Command: []string{
			filepath.Join(env.Cluster.Layout().Bin(), binaries.PublishedJobSet().Name), "--kubeconfig=" + cmp.Or(at.Kubeconfig, env.Cluster.KubeconfigPath()), "--config=" + config, "--zap-devel=false",
		},
		Webhooks: filepath.Join(module, "config", "components", "webhook", "manifests.yaml"),
	}, nil
}

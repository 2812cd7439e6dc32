package main

import (
	"context"
	"fmt"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

// Names of the managers.
const (
	ours      = "holdfast"
	published = "upstream"
)

const (
	program     = "jobset-bench" // also the name of its account
	webhookPort = 9843
	health      = "127.0.0.1:18843"
	metrics     = "127.0.0.1:18844"
	profiling   = "127.0.0.1:18845"
)

// manager is a running manager.
type manager struct {
	name string
	pid  int
	// scrape reads the manager's counters.
	scrape func(context.Context) (counters, error)
}

// startManager starts a manager with its webhooks. The other manager must not be running.
func startManager(ctx context.Context, env *framework.Environment, name string) (*manager, error) {
	command, manifests, err := commandOf(ctx, env, name)
	if err != nil {
		return nil, err
	}
	if err := env.Cluster.StartProgram(ctx, testbed.Program{Name: program, Command: command, Ready: framework.Healthy(health)}); err != nil {
		return nil, err
	}
	if err := env.ApplyWebhooks(ctx, manifests, webhookPort); err != nil {
		return nil, err
	}
	pid, err := env.Cluster.ProgramPID(program)
	if err != nil {
		return nil, err
	}
	scrape, err := scraper(ctx, env)
	if err != nil {
		return nil, err
	}
	m := &manager{name: name, pid: pid, scrape: scrape}
	return m, until(ctx, func(ctx context.Context) error { // the metrics are served a little later than the rest
		_, err := m.scrape(ctx)
		return err
	})
}

func commandOf(ctx context.Context, env *framework.Environment, name string) (command []string, manifests string, err error) {
	kubeconfig, err := env.Administrator(ctx, program)
	if err != nil {
		return nil, "", err
	}
	if name == published {
		other, err := env.PublishedManager(ctx, framework.PublishedAddresses{WebhookPort: webhookPort, Metrics: metrics, Health: health, Kubeconfig: kubeconfig})
		return other.Command, other.Webhooks, err
	}
	certificates, err := env.ServingFolder()
	return []string{
		env.File("bin", "manager"), "--kubeconfig=" + kubeconfig, "--webhooks", fmt.Sprintf("--webhook-port=%d", webhookPort), "--webhook-cert-dir=" + certificates,
		"--metrics-bind-address=" + metrics, "--health-probe-bind-address=" + health, "--pprof-bind-address=" + profiling,
	}, env.File("charts", "jobset-controller", "files", "webhook", "manifests.yaml"), err
}

// stopManager removes the webhooks and then stops the running manager.
func stopManager(ctx context.Context, env *framework.Environment) error {
	if err := env.RemoveWebhooks(ctx); err != nil {
		return err
	}
	return env.Cluster.StopProgram(ctx, program)
}

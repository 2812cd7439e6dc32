package main

import (
	"context"
	"fmt"
	"os"

	"github.com/holdfast-project/holdfast/e2e/fakes/members"
	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/testbed"
	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
)

const (
	namespace = "bench-capacity"
	// storeConnections is the number of store connections for the orchestrator and this program.
	storeConnections = 500
	webhookPort      = 9848
)

// program is a measured program.
type program struct {
	framework.Managed
	metrics string // address
}

func (p program) metered() framework.Metered {
	return framework.Metered{Name: p.Name, Metrics: p.metrics}
}

// benchmark is one run.
type benchmark struct {
	options
	env      *framework.Environment
	store    *members.Server
	programs []program
}

func run(ctx context.Context, o options) error {
	env, err := framework.New(ctx, testbed.Options{Args: map[string][]string{
		// The nodes do not renew their leases, and the benchmark creates the pods itself.
		"kube-controller-manager": {"--node-monitor-grace-period=24h", "--controllers=*,-job-controller"},
	}}, os.Stderr)
	if err != nil {
		return err
	}
	defer env.Close()
	b := &benchmark{options: o, env: env}
	if b.store, err = members.StartDurableServer(ctx, "valkey-server", storeConnections); err != nil {
		return err
	}
	defer b.store.Stop()
	_ = env.Store.Close()
	if env.Store, err = valkey.New(b.store.Options); err != nil {
		return err
	}
	if err := b.install(ctx); err != nil {
		return err
	}
	defer func() { _ = env.RemoveWebhooks(context.WithoutCancel(ctx)) }()
	return b.measureAll(ctx)
}

// install starts both programs with the chart's settings.
func (b *benchmark) install(ctx context.Context) error {
	if err := b.env.DefineJobSets(ctx); err != nil {
		return err
	}
	if err := b.env.Namespace(ctx, namespace); err != nil {
		return err
	}
	certificates, err := b.env.ServingFolder()
	if err != nil {
		return err
	}
	manager := program{metrics: "127.0.0.1:18872", Managed: framework.Managed{
		Name: "jobset-manager", Binary: "manager", Health: "127.0.0.1:18871",
		Arguments: []string{
			"--metrics-bind-address=127.0.0.1:18872", "--metrics-secure=false",
			"--inplace-store-address=" + b.store.Address, "--inplace-store-acl", "--inplace-store-tls", "--inplace-exec-image=" + framework.ExecImage,
			"--webhooks", fmt.Sprintf("--webhook-port=%d", webhookPort), "--webhook-cert-dir=" + certificates,
		},
	}}
	orchestrator := program{metrics: "127.0.0.1:18874", Managed: framework.Managed{
		Name: "jobset-orchestrator", Binary: "orchestrator", Health: "127.0.0.1:18873",
		Arguments: append([]string{
			"--metrics-bind-address=127.0.0.1:18874", "--metrics-secure=false", "--leader-election-namespace=kube-system",
			"--leader-election-lease-duration=" + b.env.OrchestratorLease.String(),
		}, b.store.OrchestratorArguments()...),
	}}
	b.programs = []program{manager, orchestrator}
	for _, p := range b.programs {
		if err := b.env.StartManaged(ctx, p.Managed); err != nil {
			return err
		}
	}
	return b.env.ApplyWebhooks(ctx, b.env.File("charts", "jobset-controller", "files", "webhook", "manifests.yaml"), webhookPort)
}

// restart stops a program and starts it again with empty caches.
func (b *benchmark) restart(ctx context.Context, p program) error {
	if err := b.env.Cluster.StopProgram(ctx, p.Name); err != nil {
		return err
	}
	return b.env.StartManaged(ctx, p.Managed)
}

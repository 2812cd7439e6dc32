package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/holdfast-project/holdfast/e2e/benchmarks/scale/results"
	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

const (
	managerName                   = "jobset-manager"
	webhookPort                   = 9847
	managerHealth, managerMetrics = "127.0.0.1:18861", "127.0.0.1:18862"
	managerProfile                = "127.0.0.1:18863"
)

// managerOf is a running JobSet manager, ours or the published one.
type managerOf struct {
	published bool
	metrics   string       // its URL
	web       *http.Client // may read the metrics
}

// byPublished reports whether the upstream JobSet controller handles this way to recover.
func byPublished(way string) bool { return way == results.Published || way == results.Upstream }

// manage starts the manager for a recovery method, with its webhooks, which exclusive placement requires. If the
// other manager is running, it is stopped first.
func (b *benchmark) manage(ctx context.Context, way string) error {
	published := byPublished(way)
	if b.manager != nil && b.manager.published == published {
		return nil
	}
	if b.manager != nil {
		if err := errors.Join(b.env.RemoveWebhooks(ctx), b.env.Cluster.StopProgram(ctx, managerName)); err != nil {
			return err
		}
		b.manager = nil
	}
	command, webhooks, err := b.managerCommand(ctx, published)
	if err != nil {
		return err
	}
	if err := b.env.Cluster.StartProgram(ctx, testbed.Program{Name: managerName, Command: command, Ready: framework.Healthy(managerHealth)}); err != nil {
		return err
	}
	if err := b.env.ApplyWebhooks(ctx, webhooks, webhookPort); err != nil {
		return err
	}
	m := &managerOf{published: published, metrics: "http://" + managerMetrics + "/metrics", web: http.DefaultClient}
	if published { // it cannot serve metrics without authentication
		m.metrics = "https://" + managerMetrics + "/metrics"
		if m.web, err = b.env.Scraper(ctx); err != nil {
			return err
		}
	}
	b.manager = m
	return nil
}

func (b *benchmark) managerCommand(ctx context.Context, published bool) (command []string, webhooks string, err error) {
	if published {
		other, err := b.env.PublishedManager(ctx, framework.PublishedAddresses{WebhookPort: webhookPort, Metrics: managerMetrics, Health: managerHealth})
		return other.Command, other.Webhooks, err
	}
	env := b.env
	certificates, err := env.ServingFolder()
	return []string{
		env.File("bin", "manager"), "--kubeconfig=" + env.Cluster.KubeconfigPath(), "--health-probe-bind-address=" + managerHealth,
		"--metrics-bind-address=" + managerMetrics, "--metrics-secure=false", "--pprof-bind-address=" + managerProfile,
		"--inplace-store-address=" + b.store.Address, "--inplace-store-acl", "--inplace-store-tls", "--inplace-exec-image=" + framework.ExecImage, "--inplace-agent-image=" + framework.AgentImage,
		"--webhooks", fmt.Sprintf("--webhook-port=%d", webhookPort), "--webhook-cert-dir=" + certificates,
	}, env.File("charts", "jobset-controller", "files", "webhook", "manifests.yaml"), err
}

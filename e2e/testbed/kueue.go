package testbed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-project/holdfast/e2e/testbed/binaries"
	"github.com/holdfast-project/holdfast/e2e/testbed/kueue"
)

const (
	kueueName        = "kueue"
	kueueWebhookPort = 9743
	kueueHealth      = "127.0.0.1:18743"
	kueueMetrics     = "127.0.0.1:18744"
	// kueueMetricsCerts is the only folder, below /etc, where the manager looks for its metrics certificates.
	kueueMetricsCerts = "kueue/metrics/certs"
)

// withEtc is a shell script that mounts an overlay on /etc, only for the program that replaces the shell. The mount is
// in a separate namespace, and nothing is written to the host's /etc.
const withEtc = `mount -t overlay holdfast -o "lowerdir=$1:/etc" /etc; shift; exec "$@"`

// Kueue builds Kueue's real manager if necessary (three minutes with a cold cache), applies its CRDs and webhooks, and
// runs it on this host. It manages the given frameworks; the default is batch Jobs and JobSets. The caller creates the
// quotas. Kueue can be called repeatedly.
func (c *Cluster) Kueue(ctx context.Context, progress io.Writer, frameworks ...string) error {
	if len(frameworks) == 0 {
		frameworks = kueue.Frameworks()
	}
	if _, err := binaries.Build(ctx, c.layout.Bin(), []binaries.Component{binaries.Kueue()}, progress); err != nil {
		return err
	}
	dir, err := binaries.ModuleDir(ctx, binaries.KueueModule, "sigs.k8s.io/kueue")
	if err != nil {
		return err
	}
	ca, err := c.Authority()
	if err != nil {
		return err
	}
	webhook := kueue.Webhook{URL: fmt.Sprintf("https://%s:%d", hostAddress, kueueWebhookPort), CA: ca}
	crds, err := kueue.CRDs(os.DirFS(dir), webhook)
	if err != nil {
		return err
	}
	if err := c.applyAll(ctx, crds); err != nil {
		return err
	}
	if err := c.startKueue(ctx, frameworks); err != nil {
		return err
	}
	configurations, err := kueue.WebhookConfigurations(os.DirFS(dir), webhook, frameworks)
	if err != nil {
		return err
	}
	return c.applyAll(ctx, configurations)
}

func (c *Cluster) startKueue(ctx context.Context, frameworks []string) error {
	certs, err := c.kueueCertificates()
	if err != nil {
		return err
	}
	config, err := kueue.Config(kueue.Settings{
		Frameworks: frameworks, WebhookHost: hostAddress, WebhookPort: kueueWebhookPort, CertDir: certs,
		Health: kueueHealth, Metrics: kueueMetrics, QPS: clientQPS, Burst: clientBurst,
	})
	if err != nil {
		return err
	}
	path, binary := c.layout.state("config", "kueue.json"), c.layout.program(kueueName)
	if err := writeFile(path, config); err != nil {
		return err
	}
	build, err := digest(binary)
	if err != nil {
		return err
	}
	return c.StartProgram(ctx, Program{
		Name: kueueName,
		Command: []string{
			"/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-ec", withEtc, "sh", c.kueueEtc(),
			binary, "--config=" + path, "--kubeconfig=" + c.layout.Kubeconfig(),
			// Otherwise it would serve an aggregated API with its own certificates.
			"--feature-gates=VisibilityOnDemand=false",
		},
		Inputs: []string{config, build},
		Ready:  answersOK(plainClient, "http://"+kueueHealth+"/readyz"),
	})
}

func (c *Cluster) kueueEtc() string { return c.layout.state(kueueName, "etc") }

// kueueCertificates creates a certificate for webhooks and metrics, and returns its directory.
func (c *Cluster) kueueCertificates() (string, error) {
	dir := c.kueueEtc() + "/" + kueueMetricsCerts
	if _, err := os.Stat(dir + "/tls.crt"); !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	pair, err := c.ServingCertificate(hostAddress, "127.0.0.1")
	if err != nil {
		return "", err
	}
	// The certificate is written last, because it marks the pair as complete.
	return dir, errors.Join(writeFile(dir+"/tls.key", string(pair.Key)), writeFile(dir+"/tls.crt", string(pair.Certificate)))
}

// StopKueue stops the manager. It removes the webhooks first, because otherwise the API server would reject Jobs. The
// CRDs and their objects are kept.
func (c *Cluster) StopKueue(ctx context.Context) error {
	client, err := c.dynamic()
	if err != nil {
		return err
	}
	for _, kind := range []string{"mutating", "validating"} {
		err := client.Resource(webhookKind(kind)).Delete(ctx, "kueue-"+kind+"-webhook-configuration", metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("removing Kueue's webhooks: %w", err)
		}
	}
	return c.StopProgram(ctx, kueueName)
}

func webhookKind(kind string) schema.GroupVersionResource {
	return schema.GroupVersionResource{
		Group: "admissionregistration.k8s.io", Version: "v1", Resource: kind + "webhookconfigurations",
	}
}

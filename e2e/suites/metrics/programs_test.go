//go:build e2e

package metrics

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/testbed"
	"github.com/holdfast-project/holdfast/e2e/testbed/prometheus"
)

const (
	webhookPort        = 9845
	schedulerPort      = 10261
	orchestratorPort   = 18083 // the same as in the framework
	rendezvousPort     = 29401
	rendezvousMetrics  = 18197
	firstPort          = 18190
	healthAfterMetrics = 20
)

// managers are the programs built on shared/bootstrap, with their arguments. Each serves metrics on its own port.
var managers = []struct {
	framework.Managed
	arguments []string
}{
	{framework.Managed{Name: framework.Manager, Binary: "manager", Manifest: "jobset-controller-in-place", Account: "jobset-controller"}, nil},
	{framework.Managed{Name: framework.AppWrappers, Manifest: "appwrapper-controller", Account: "appwrapper-controller"}, nil},
	{framework.Managed{Name: framework.ElasticJobs, Manifest: "elastic-operator", Account: "elastic-operator"}, []string{"--rendezvous-image=localhost/holdfast/rendezvous:dev"}},
}

const reschedulerPort = 18193

// startPrograms starts all of Holdfast on this host, and then directs the JobSet manager's webhooks to it.
func startPrograms(ctx context.Context) error {
	certificates, err := shared.ServingFolder()
	if err != nil {
		return err
	}
	jobSets := []string{
		"--inplace-store-address=" + shared.Cluster.RedisAddress(), "--inplace-exec-image=" + framework.ExecImage, "--inplace-agent-image=" + framework.AgentImage,
		"--webhooks", fmt.Sprintf("--webhook-port=%d", webhookPort), "--webhook-cert-dir=" + certificates,
	}
	for i, m := range managers {
		arguments := append([]string{
			"--metrics-bind-address=" + address(firstPort+i), "--metrics-secure=false",
			"--leader-elect", "--leader-election-namespace=" + framework.SystemNamespace,
		}, m.arguments...)
		switch m.Name {
		case framework.Manager:
			arguments = append(arguments, jobSets...)
		case framework.AppWrappers:
			arguments = append(arguments, shared.WithoutWebhook())
		}
		program := m.Managed
		program.Health, program.Arguments = address(firstPort+healthAfterMetrics+i), arguments
		if err := shared.StartManaged(ctx, program); err != nil {
			return err
		}
	}
	for _, start := range []func(context.Context) error{shared.StartOrchestrator, startRescheduler, startScheduler, startRendezvous} {
		if err := start(ctx); err != nil {
			return err
		}
	}
	return shared.ApplyWebhooks(ctx, shared.File("charts", "jobset-controller", "files", "webhook", "manifests.yaml"), webhookPort)
}

// startRescheduler starts the rescheduler with its webhook. Without the webhook, a replacement may be scheduled to the
// same node before the rescheduler can exclude it.
func startRescheduler(ctx context.Context) error {
	return shared.StartRescheduler(ctx, shared.File("e2e", "suites", "metrics", "rescheduler.yaml"),
		"--metrics-bind-address="+address(reschedulerPort), "--metrics-secure=false", "--leader-elect", "--leader-election-namespace="+framework.SystemNamespace)
}

// startScheduler starts the second scheduler, which has the plugin.
func startScheduler(ctx context.Context) error {
	config, err := os.ReadFile(shared.File("charts", "rescheduler", "files", "scheduler", "config.yaml"))
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "holdfast-scheduler-")
	if err != nil {
		return err
	}
	file := filepath.Join(folder, "config.yaml")
	connection := fmt.Sprintf("\nclientConnection: {kubeconfig: %s}\n", shared.Cluster.KubeconfigPath())
	if err := os.WriteFile(file, append(config, connection...), 0o600); err != nil {
		return err
	}
	kubeconfig := shared.Cluster.KubeconfigPath()
	return shared.Cluster.StartProgram(ctx, testbed.Program{
		Name: "rescheduler-scheduler",
		Command: []string{
			shared.File("bin", "rescheduler-scheduler"), "--config=" + file, fmt.Sprintf("--secure-port=%d", schedulerPort), "--bind-address=127.0.0.1",
			"--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig, "--cert-dir=" + folder,
		},
		Ready: answers(fmt.Sprintf("https://127.0.0.1:%d/healthz", schedulerPort)),
	})
}

func startRendezvous(ctx context.Context) error {
	return shared.Cluster.StartProgram(ctx, testbed.Program{
		Name: "rendezvous",
		Command: []string{
			shared.File("bin", "rendezvous"), "--listen=" + address(rendezvousPort), "--metrics=" + address(rendezvousMetrics), "--run-id=" + runID,
		},
		Ready: answers("http://" + address(rendezvousMetrics) + "/healthz"),
	})
}

// insecure accepts any certificate.
var insecure = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}

func answers(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := insecure.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", url, response.Status)
		}
		return nil
	}
}

// targets returns all programs, and Kueue behind the proxy that adds a token.
func targets(kueue string) []prometheus.Target {
	all := []prometheus.Target{
		{Job: framework.Orchestrator, Addresses: []string{address(orchestratorPort)}},
		{Job: framework.Rescheduler, Addresses: []string{address(reschedulerPort)}},
		{Job: "rendezvous", Addresses: []string{address(rendezvousMetrics)}},
		{Job: "rescheduler-scheduler", Addresses: []string{address(schedulerPort)}, HTTPS: true},
		{Job: "kueue", Addresses: []string{kueue}},
	}
	for i, m := range managers {
		all = append(all, prometheus.Target{Job: m.Name, Addresses: []string{address(firstPort + i)}})
	}
	return all
}

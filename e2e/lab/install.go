package lab

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/testbed/image"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// Names of the programs that Install starts.
const (
	Manager      = "jobset-manager"
	Orchestrator = "jobset-orchestrator"
)

// managerBinary is the JobSet manager in bin.
const managerBinary = "manager"

const (
	managerHealth      = "127.0.0.1:18081"
	orchestratorHealth = "127.0.0.1:18082"

	orchestratorMetrics = "127.0.0.1:18083"
)

// Images that the manager adds to pods.
const (
	AgentImage = "localhost/holdfast/agent:dev"
	ExecImage  = "localhost/holdfast/holdfast-exec:dev"
)

// images maps the name in the manifests to the program that `make build` left in bin/.
var images = map[string]string{
	AgentImage:                      "agent",
	ExecImage:                       "holdfast-exec",
	"localhost/holdfast/worker:dev": "worker",
	"localhost/holdfast/step:dev":   "step",
}

// Install loads the images, applies the CRD, and starts the manager and the orchestrator. It may be repeated.
func (l *Lab) Install(ctx context.Context) error {
	if err := l.LoadImages(ctx); err != nil {
		return err
	}
	if err := l.DefineJobSets(ctx); err != nil {
		return err
	}
	for _, start := range []func(context.Context) error{l.StartManager, l.StartOrchestrator} {
		if err := start(ctx); err != nil {
			return err
		}
	}
	return l.LabelNode(ctx)
}

// DefineJobSets applies the definition, and returns when JobSets are served.
func (l *Lab) DefineJobSets(ctx context.Context) error {
	return l.define(ctx, v1alpha2.GroupVersion.WithKind("JobSet"), "charts", "jobset-controller", "files", "crds", "jobset.x-k8s.io_jobsets.yaml")
}

// webhookPort is where a manager serves webhooks that StartServingManager has started.
const webhookPort = 9844

// StartServingManager starts a JobSet manager that serves its webhooks and adds no agents. Stop it by StopServingManager.
func (l *Lab) StartServingManager(ctx context.Context) error {
	certificates, err := l.ServingFolder()
	if err != nil {
		return err
	}
	err = l.StartManaged(ctx, Managed{
		Name: Manager, Binary: managerBinary, Manifest: jobSetManifest, Account: jobSetAccount, Health: managerHealth,
		Arguments: []string{noMetrics, "--webhooks", fmt.Sprintf("--webhook-port=%d", webhookPort), "--webhook-cert-dir=" + certificates},
	})
	if err != nil {
		return err
	}
	return l.ApplyWebhooks(ctx, l.File("charts", "jobset-controller", "files", "webhook", "manifests.yaml"), webhookPort)
}

// StopServingManager ends it, its webhooks first.
func (l *Lab) StopServingManager(ctx context.Context) error {
	if err := l.RemoveWebhooks(ctx); err != nil {
		return err
	}
	return l.Cluster.StopProgram(ctx, Manager)
}

// LoadImages makes images of the built programs and gives them to the node.
func (l *Lab) LoadImages(ctx context.Context) error {
	for name, program := range images {
		if err := l.LoadProgram(ctx, name, l.File("bin", program)); err != nil {
			return err
		}
	}
	return nil
}

// LoadProgram makes an image of one program and gives it to the node.
func (l *Lab) LoadProgram(ctx context.Context, name, program string) error {
	dir, err := os.MkdirTemp("", "holdfast-images-")
	if err != nil {
		return fmt.Errorf("making images: %w", err)
	}
	defer os.RemoveAll(dir)
	archive := filepath.Join(dir, "image.tar")
	entrypoint := "/" + filepath.Base(program)
	img := image.Image{Name: name, Entrypoint: []string{entrypoint}, Files: map[string]string{entrypoint: program}}
	if err := img.Write(archive); err != nil {
		return err
	}
	return l.Cluster.LoadImage(ctx, archive)
}

// StartManager starts the JobSet manager, if it does not run.
func (l *Lab) StartManager(ctx context.Context) error {
	return l.StartManaged(ctx, Managed{
		Name: Manager, Binary: managerBinary, Manifest: jobSetManifest, Account: jobSetAccount, Health: managerHealth,
		Arguments: []string{
			noMetrics,
			"--inplace-store-address=" + l.Cluster.RedisAddress(), "--inplace-exec-image=" + ExecImage, "--inplace-agent-image=" + AgentImage,
			"--config=" + l.File("e2e", "lab", "manager.yaml"),
			"--webhooks=false", "--leader-elect=false", // a file of the published kind asks for both
		},
	})
}

// StartOrchestrator starts the orchestrator, if it does not run.
func (l *Lab) StartOrchestrator(ctx context.Context) error { return l.StartOrchestratorWith(ctx) }

// StartOrchestratorWith is StartOrchestrator with more flags.
func (l *Lab) StartOrchestratorWith(ctx context.Context, flags ...string) error {
	return l.StartManaged(ctx, Managed{
		Name: Orchestrator, Binary: "orchestrator", Manifest: jobSetManifest, Account: jobSetAccount, Health: orchestratorHealth,
		Arguments: append([]string{
			"--valkey-address=" + l.Cluster.RedisAddress(), "--leader-election-namespace=" + SystemNamespace,
			"--leader-election-lease-duration=" + l.OrchestratorLease.String(),
			"--metrics-bind-address=" + orchestratorMetrics, "--metrics-secure=false",
		}, flags...),
	})
}

// Healthy asks /readyz of a program.
func Healthy(address string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", address, response.Status)
		}
		return nil
	}
}

// awaitKind returns once the API server serves a kind.
func (l *Lab) awaitKind(ctx context.Context, kind schema.GroupVersionKind) error {
	return Until(ctx, "the API server serves "+kind.Kind+"s", func(ctx context.Context) error {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		return l.Client.List(ctx, list, client.Limit(1))
	})
}

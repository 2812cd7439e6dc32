package framework

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/testbed/image"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// Names of the programs started by Install.
const (
	Manager      = "jobset-manager"
	Orchestrator = "jobset-orchestrator"
)

// managerBinary is the name of the JobSet manager's binary in bin.
const managerBinary = "manager"

const (
	managerHealth      = "127.0.0.1:18081"
	orchestratorHealth = "127.0.0.1:18082"

	orchestratorMetrics = "127.0.0.1:18083"
)

// Images that the manager injects into pods.
const (
	AgentImage = "localhost/holdfast/agent:dev"
	ExecImage  = "localhost/holdfast/holdfast-exec:dev"
)

// WorkerImage is the worker image in the examples.
const WorkerImage = "localhost/holdfast/worker:dev"

// images maps image names in the manifests to binaries in bin.
var images = map[string]string{
	AgentImage:                    "agent",
	ExecImage:                     "holdfast-exec",
	WorkerImage:                   "worker",
	"localhost/holdfast/step:dev": "step",
}

// Install loads the images, applies the CRD, and starts the manager and the orchestrator. It can be called
// repeatedly.
func (env *Environment) Install(ctx context.Context) error {
	if err := env.LoadImages(ctx); err != nil {
		return err
	}
	if err := env.DefineJobSets(ctx); err != nil {
		return err
	}
	for _, start := range []func(context.Context) error{env.StartManager, env.StartOrchestrator} {
		if err := start(ctx); err != nil {
			return err
		}
	}
	return env.LabelNode(ctx)
}

// DefineJobSets applies the CRD and returns once JobSets are served.
func (env *Environment) DefineJobSets(ctx context.Context) error {
	return env.define(ctx, v1alpha2.GroupVersion.WithKind("JobSet"), "charts", "jobset-controller", "files", "crds", "jobset.x-k8s.io_jobsets.yaml")
}

// webhookPort is the webhook port of a manager started by StartServingManager.
const webhookPort = 9844

// StartServingManager starts a JobSet manager that serves its webhooks and injects no agents. Stop it with
// StopServingManager.
func (env *Environment) StartServingManager(ctx context.Context) error {
	certificates, err := env.ServingFolder()
	if err != nil {
		return err
	}
	err = env.StartManaged(ctx, Managed{
		Name: Manager, Binary: managerBinary, Manifest: jobSetManifest, Account: jobSetAccount, Health: managerHealth,
		Arguments: []string{
			noMetrics, "--webhooks", fmt.Sprintf("--webhook-port=%d", webhookPort), "--webhook-cert-dir=" + certificates,
			"--inplace-store-address=" + env.Cluster.RedisAddress(), "--inplace-exec-image=" + ExecImage,
		},
	})
	if err != nil {
		return err
	}
	return env.ApplyWebhooks(ctx, env.File("charts", "jobset-controller", "files", "webhook", "manifests.yaml"), webhookPort)
}

// StopServingManager removes the webhooks and then stops the manager.
func (env *Environment) StopServingManager(ctx context.Context) error {
	if err := env.RemoveWebhooks(ctx); err != nil {
		return err
	}
	return env.Cluster.StopProgram(ctx, Manager)
}

// LoadImages builds images of the programs and loads them into the node.
func (env *Environment) LoadImages(ctx context.Context) error {
	for name, program := range images {
		if err := env.LoadProgram(ctx, name, env.File("bin", program)); err != nil {
			return err
		}
	}
	return nil
}

// LoadProgram builds an image of one program and loads it into the node.
func (env *Environment) LoadProgram(ctx context.Context, name, program string) error {
	dir, err := os.MkdirTemp("", "holdfast-images-")
	if err != nil {
		return fmt.Errorf("building images: %w", err)
	}
	defer os.RemoveAll(dir)
	archive := filepath.Join(dir, "image.tar")
	entrypoint := "/" + filepath.Base(program)
	img := image.Image{Name: name, Entrypoint: []string{entrypoint}, Files: map[string]string{entrypoint: program}}
	if err := img.Write(archive); err != nil {
		return err
	}
	return env.Cluster.LoadImage(ctx, archive)
}

// StartManager starts the JobSet manager if it is not running.
func (env *Environment) StartManager(ctx context.Context) error {
	return env.StartManaged(ctx, Managed{
		Name: Manager, Binary: managerBinary, Manifest: jobSetManifest, Account: jobSetAccount, Health: managerHealth,
		Arguments: []string{
			noMetrics,
			"--inplace-store-address=" + env.Cluster.RedisAddress(), "--inplace-exec-image=" + ExecImage, "--inplace-agent-image=" + AgentImage,
			"--config=" + env.File("e2e", "framework", "manager.yaml"),
			"--webhooks=false", "--leader-elect=false", // the configuration file enables both
		},
	})
}

// StartOrchestrator starts the orchestrator if it is not running.
func (env *Environment) StartOrchestrator(ctx context.Context) error {
	return env.StartOrchestratorWith(ctx)
}

// StartOrchestratorWith is like StartOrchestrator, with additional flags.
func (env *Environment) StartOrchestratorWith(ctx context.Context, flags ...string) error {
	return env.StartManaged(ctx, Managed{
		Name: Orchestrator, Binary: "orchestrator", Manifest: jobSetManifest, Account: jobSetAccount, Health: orchestratorHealth,
		Arguments: append([]string{
			"--valkey-address=" + env.Cluster.RedisAddress(), "--leader-election-namespace=" + SystemNamespace,
			"--leader-election-lease-duration=" + env.OrchestratorLease.String(),
			"--metrics-bind-address=" + orchestratorMetrics, "--metrics-secure=false",
		}, flags...),
	})
}

// Healthy returns a check that requests /readyz at an address.
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

// awaitKind waits until the API server serves a kind.
func (env *Environment) awaitKind(ctx context.Context, kind schema.GroupVersionKind) error {
	return Until(ctx, "the API server serves "+kind.Kind+"s", func(ctx context.Context) error {
		// The client would cache a group that is already served while its kinds are not, so discovery is checked
		// first.
		served, err := env.Kube.Discovery().ServerResourcesForGroupVersion(kind.GroupVersion().String())
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Kind == kind.Kind }) {
			return fmt.Errorf("%s has no %s", kind.GroupVersion(), kind.Kind)
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		return env.Client.List(ctx, list, client.Limit(1))
	})
}

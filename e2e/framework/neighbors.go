package framework

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-project/holdfast/e2e/testbed"
	"github.com/holdfast-project/holdfast/e2e/testbed/binaries"
)

// neighbor is the manager of another project that runs on this host alongside our programs.
type neighbor struct {
	program binaries.Component
	module  string   // module of the project; program pins its version
	crds    []string // files within the module
	kinds   []schema.GroupVersionKind
	// webhooks is a file within the module. Its configurations are installed under names that begin with prefix.
	webhooks, prefix string
	port             int
	health           string
	narrow           func(hook map[string]any)
	// config returns the configuration. temporary reports whether the manager has no setting for its certificates, and
	// instead reads them from the directory for temporary files.
	config    func(port int, health, certificates string) string
	temporary bool
}

// leaderWorkerSetPrefix is the prefix of the LeaderWorkerSet controller's webhook configurations. The API server calls
// webhooks in the order of these names, so ours are called first.
const leaderWorkerSetPrefix = "lws-"

// LeaderWorkerSet is the kind of the LeaderWorkerSet controller.
var LeaderWorkerSet = schema.GroupVersionKind{Group: "leaderworkerset.x-k8s.io", Version: "v1", Kind: "LeaderWorkerSet"}

// Kinds of Kubeflow Trainer.
var (
	TrainJob               = schema.GroupVersionKind{Group: "trainer.kubeflow.org", Version: "v1alpha1", Kind: "TrainJob"}
	TrainingRuntime        = TrainJob.GroupVersion().WithKind("TrainingRuntime")
	ClusterTrainingRuntime = TrainJob.GroupVersion().WithKind("ClusterTrainingRuntime")
)

// StartLeaderWorkerSets applies the CRD of LeaderWorkerSets, and runs their manager with its webhooks on this host. It
// builds the manager if necessary.
func (env *Environment) StartLeaderWorkerSets(ctx context.Context) error {
	_, err := env.startNeighbor(ctx, neighbor{
		program: binaries.LeaderWorkerSet(), module: "sigs.k8s.io/lws",
		crds:     []string{"config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml"},
		kinds:    []schema.GroupVersionKind{LeaderWorkerSet},
		webhooks: "config/webhook/manifests.yaml", prefix: leaderWorkerSetPrefix, port: 9848, health: "127.0.0.1:18848", narrow: podsOfLeaderWorkerSets,
		config: func(port int, health, certificates string) string {
			return fmt.Sprintf(`apiVersion: config.lws.x-k8s.io/v1alpha1
kind: Configuration
webhook: {port: %d, certDir: %s}
leaderElection: {leaderElect: false}
metrics: {bindAddress: "0"}
health: {healthProbeBindAddress: "%s"}
internalCertManagement: {enable: false}
`, port, certificates, health)
		},
	})
	return err
}

// podsOfLeaderWorkerSets limits a webhook for pods to the pods of LeaderWorkerSets, as the upstream installation does.
func podsOfLeaderWorkerSets(hook map[string]any) {
	podsWith(hook, "leaderworkerset.sigs.k8s.io/name")
}

// StartTrainer applies the CRDs of Kubeflow Trainer, runs its manager with its webhooks on this host, and installs the
// runtime torch-distributed. It builds the manager if necessary. The CRD of JobSets must already be applied.
func (env *Environment) StartTrainer(ctx context.Context) error {
	module, err := env.startNeighbor(ctx, neighbor{
		program: binaries.Trainer(), module: "github.com/kubeflow/trainer/v2",
		crds: []string{
			"manifests/base/crds/trainer.kubeflow.org_clustertrainingruntimes.yaml", "manifests/base/crds/trainer.kubeflow.org_trainingruntimes.yaml",
			"manifests/base/crds/trainer.kubeflow.org_trainjobs.yaml",
		},
		kinds:    []schema.GroupVersionKind{TrainJob, TrainingRuntime, ClusterTrainingRuntime},
		webhooks: "manifests/base/webhook/manifests.yaml", prefix: configurationPrefix + "trainer-", port: 9849, health: "127.0.0.1:18849",
		narrow: func(map[string]any) {}, temporary: true,
		config: func(port int, health, _ string) string {
			return fmt.Sprintf(`apiVersion: config.trainer.kubeflow.org/v1alpha1
kind: Configuration
webhook: {port: %d}
leaderElection: {leaderElect: false}
metrics: {bindAddress: "0"}
health: {healthProbeBindAddress: "%s"}
certManagement: {enable: false}
`, port, health)
		},
	})
	if err != nil {
		return err
	}
	return Until(ctx, "the runtime is installed", func(ctx context.Context) error { // its webhook may not be ready immediately
		return env.Apply(ctx, "", filepath.Join(module, "manifests", "base", "runtimes", "torch_distributed.yaml"))
	})
}

// startNeighbor starts a neighbor and returns the directory of the project's module.
func (env *Environment) startNeighbor(ctx context.Context, n neighbor) (module string, err error) {
	stamps, err := binaries.Build(ctx, env.Cluster.Layout().Bin(), []binaries.Component{n.program}, os.Stderr)
	if err != nil {
		return "", err
	}
	if module, err = binaries.ModuleDir(ctx, n.program.Module, n.module); err != nil {
		return "", err
	}
	for _, crd := range n.crds {
		if err := env.Apply(ctx, "", filepath.Join(module, crd)); err != nil {
			return "", err
		}
	}
	for _, kind := range n.kinds {
		if err := env.awaitKind(ctx, kind); err != nil {
			return "", err
		}
	}
	folder, err := env.servingFolder(n.program.Name)
	if err != nil {
		return "", err
	}
	config, content := filepath.Join(folder, "config.yaml"), n.config(n.port, n.health, folder)
	if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
		return "", fmt.Errorf("configuring %s: %w", n.program.Name, err)
	}
	command := []string{filepath.Join(env.Cluster.Layout().Bin(), n.program.Name), "--kubeconfig=" + env.Cluster.KubeconfigPath(), "--config=" + config}
	if n.temporary {
		if err := env.certifyTemporary(folder); err != nil {
			return "", err
		}
		command = append([]string{"/usr/bin/env", "TMPDIR=" + folder}, command...)
	}
	err = env.Cluster.StartProgram(ctx, testbed.Program{
		Name: n.program.Name, Command: command, Inputs: []string{stamps[n.program.Name], content}, Ready: Healthy(n.health),
	})
	if err != nil {
		return "", err
	}
	return module, env.applyWebhooks(ctx, filepath.Join(module, n.webhooks), n.prefix, n.port, n.narrow)
}

// certifyTemporary creates a certificate in the default location of controller-runtime below a directory for temporary
// files.
func (env *Environment) certifyTemporary(folder string) error {
	certificates := filepath.Join(folder, "k8s-webhook-server", "serving-certs")
	if err := os.MkdirAll(certificates, 0o700); err != nil {
		return fmt.Errorf("creating the folder for certificates: %w", err)
	}
	return env.certify(certificates)
}

package framework

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-project/holdfast/e2e/testbed"
)

// Names of the other managers, which are also the names of their binaries.
const (
	AppWrappers = "appwrapper-manager"
	ElasticJobs = "elastic-manager"
	Rescheduler = "rescheduler-manager"
)

const (
	appWrapperHealth  = "127.0.0.1:18085"
	elasticHealth     = "127.0.0.1:18086"
	reschedulerHealth = "127.0.0.1:18087"

	reschedulerWebhookPort = 9846
)

// Accounts in the plain manifests. Except for the first one, they are also the names of the manifests.
const (
	jobSetAccount      = "jobset-controller"
	jobSetManifest     = "jobset-controller-in-place"
	appWrapperAccount  = "appwrapper-controller"
	elasticAccount     = "elastic-operator"
	reschedulerAccount = "rescheduler"
)

// Managed is a manager to run on this host.
type Managed struct {
	// Name is the name of the running program.
	Name string
	// Binary is the name of the file in bin. The default is Name.
	Binary string
	// Manifest is a file in config/ with the permissions that the manager has in a cluster, and Account is the account
	// that has them. If both are empty, the manager is an administrator.
	Manifest, Account string
	// Health is the address of the readiness probe; "0" means none.
	Health    string
	Arguments []string
	// Inputs are the contents of files that the manager reads.
	Inputs []string
	// Ready replaces the probe at Health.
	Ready func(context.Context) error
}

// StartManaged starts a manager if it is not running, and returns once it is ready.
func (env *Environment) StartManaged(ctx context.Context, m Managed) error {
	binary, ready := m.Binary, m.Ready
	if binary == "" {
		binary = m.Name
	}
	if ready == nil {
		ready = Healthy(m.Health)
	}
	kubeconfig := env.Cluster.KubeconfigPath()
	if m.Account != "" {
		var err error
		if kubeconfig, err = env.Account(ctx, m.Manifest, m.Account); err != nil {
			return err
		}
	}
	return env.Cluster.StartProgram(ctx, testbed.Program{
		Name: m.Name,
		Command: append([]string{
			env.File("bin", binary), "--kubeconfig=" + kubeconfig, "--health-probe-bind-address=" + m.Health,
		}, m.Arguments...),
		Inputs: m.Inputs,
		Ready:  ready,
	})
}

// noMetrics disables a manager's metrics.
const noMetrics = "--metrics-bind-address=0"

// DefineAppWrappers applies the CRD and returns once AppWrappers are served.
func (env *Environment) DefineAppWrappers(ctx context.Context) error {
	return env.define(ctx, schema.GroupVersionKind{Group: "workload.codeflare.dev", Version: "v1beta2", Kind: "AppWrapper"},
		"charts", "appwrapper-controller", "files", "crds", "workload.codeflare.dev_appwrappers.yaml")
}

// WithoutWebhook is the argument for an AppWrapper manager that serves no webhook. Without the argument, the manager
// would reject all AppWrappers.
func (env *Environment) WithoutWebhook() string {
	return "--config=" + env.File("e2e", "framework", "appwrappers.yaml")
}

// StartAppWrappers starts the AppWrapper manager if it is not running.
func (env *Environment) StartAppWrappers(ctx context.Context) error {
	return env.StartManaged(ctx, Managed{Name: AppWrappers, Manifest: appWrapperAccount, Account: appWrapperAccount, Health: appWrapperHealth, Arguments: []string{noMetrics, env.WithoutWebhook()}})
}

// DefineElasticJobs applies the CRD and returns once ElasticJobs are served.
func (env *Environment) DefineElasticJobs(ctx context.Context) error {
	return env.define(ctx, schema.GroupVersionKind{Group: "elastic.pytorch.org", Version: "v1alpha1", Kind: "ElasticJob"},
		"charts", "elastic-operator", "files", "crds", "elastic.pytorch.org_elasticjobs.yaml")
}

// StartElasticJobs starts the elastic operator if it is not running. arguments are added to those that are required on
// this host.
func (env *Environment) StartElasticJobs(ctx context.Context, arguments ...string) error {
	return env.StartManaged(ctx, Managed{
		Name: ElasticJobs, Manifest: elasticAccount, Account: elasticAccount, Health: elasticHealth,
		Arguments: append([]string{noMetrics}, arguments...),
	})
}

// StartRescheduler starts the rescheduler with its webhook if it is not running. config is its configuration file.
// arguments are added to those that are required on this host.
func (env *Environment) StartRescheduler(ctx context.Context, config string, arguments ...string) error {
	content, err := os.ReadFile(config)
	if err != nil {
		return fmt.Errorf("reading the rescheduler's configuration: %w", err)
	}
	certificates, err := env.servingFolder("rescheduler")
	if err != nil {
		return err
	}
	err = env.StartManaged(ctx, Managed{
		Name: Rescheduler, Manifest: reschedulerAccount, Account: reschedulerAccount, Health: reschedulerHealth, Inputs: []string{string(content)},
		Arguments: append([]string{
			noMetrics, "--config=" + config, "--webhooks", fmt.Sprintf("--webhook-port=%d", reschedulerWebhookPort), "--webhook-cert-dir=" + certificates,
		}, arguments...),
	})
	if err != nil {
		return err
	}
	return env.applyWebhooks(ctx, env.File("charts", "rescheduler", "files", "webhook", "manifests.yaml"), configurationPrefix, reschedulerWebhookPort, whereReschedulingIs)
}

// whereReschedulingIs limits a webhook to namespaces with the rescheduler's label, as its chart does.
func whereReschedulingIs(hook map[string]any) {
	hook["namespaceSelector"] = map[string]any{"matchLabels": map[string]any{"holdfast.dev/rescheduling": "enabled"}}
}

// define applies a CRD and returns once its kind is served.
func (env *Environment) define(ctx context.Context, kind schema.GroupVersionKind, file ...string) error {
	if err := env.Apply(ctx, "", env.File(file...)); err != nil {
		return err
	}
	return env.awaitKind(ctx, kind)
}

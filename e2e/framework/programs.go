package framework

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-project/holdfast/e2e/testbed"
)

// Names of the managers beside that of JobSets. Their binaries are named so too.
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

// Accounts of the plain manifests; but for the first one, manifests have the same names.
const (
	jobSetAccount      = "jobset-controller"
	jobSetManifest     = "jobset-controller-in-place"
	appWrapperAccount  = "appwrapper-controller"
	elasticAccount     = "elastic-operator"
	reschedulerAccount = "rescheduler"
)

// Managed is one of the managers on this host, as somebody wants it.
type Managed struct {
	// Name of the running program.
	Name string
	// Binary in bin; empty: it has the same name.
	Binary string
	// Manifest of config/ with the rights that it has in a cluster, and Account, whose they are: it has those, and no more. Without them it
	// is an administrator.
	Manifest, Account string
	// Health is the address at which it says that it is ready; 0: nowhere.
	Health    string
	Arguments []string
	// Inputs are contents of files that it reads.
	Inputs []string
	// Ready replaces the question at Health.
	Ready func(context.Context) error
}

// StartManaged starts a manager, if it does not run, and returns when it is ready.
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

// noMetrics are served by a manager that nobody asks for them.
const noMetrics = "--metrics-bind-address=0"

// DefineAppWrappers applies the definition, and returns when AppWrappers are served.
func (env *Environment) DefineAppWrappers(ctx context.Context) error {
	return env.define(ctx, schema.GroupVersionKind{Group: "workload.codeflare.dev", Version: "v1beta2", Kind: "AppWrapper"},
		"charts", "appwrapper-controller", "files", "crds", "workload.codeflare.dev_appwrappers.yaml")
}

// WithoutWebhook is the argument of an AppWrapper manager without a webhook, which would refuse everything otherwise.
func (env *Environment) WithoutWebhook() string {
	return "--config=" + env.File("e2e", "framework", "appwrappers.yaml")
}

// StartAppWrappers starts the AppWrapper manager, if it does not run.
func (env *Environment) StartAppWrappers(ctx context.Context) error {
	return env.StartManaged(ctx, Managed{Name: AppWrappers, Manifest: appWrapperAccount, Account: appWrapperAccount, Health: appWrapperHealth, Arguments: []string{noMetrics, env.WithoutWebhook()}})
}

// DefineElasticJobs applies the definition, and returns when ElasticJobs are served.
func (env *Environment) DefineElasticJobs(ctx context.Context) error {
	return env.define(ctx, schema.GroupVersionKind{Group: "elastic.pytorch.org", Version: "v1alpha1", Kind: "ElasticJob"},
		"charts", "elastic-operator", "files", "crds", "elastic.pytorch.org_elasticjobs.yaml")
}

// StartElasticJobs starts the elastic operator, if it does not run. The arguments come after those that it needs on this host.
func (env *Environment) StartElasticJobs(ctx context.Context, arguments ...string) error {
	return env.StartManaged(ctx, Managed{
		Name: ElasticJobs, Manifest: elasticAccount, Account: elasticAccount, Health: elasticHealth,
		Arguments: append([]string{noMetrics}, arguments...),
	})
}

// StartRescheduler starts the rescheduler with its webhook, if it does not run. The file is its configuration; the arguments come after
// those that it needs on this host.
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
	return env.applyWebhooks(ctx, env.File("charts", "rescheduler", "files", "webhook", "manifests.yaml"), reschedulerWebhookPort, whereReschedulingIs)
}

// whereReschedulingIs narrows a webhook to the namespaces that the rescheduler labels, as its chart does.
func whereReschedulingIs(hook map[string]any) {
	hook["namespaceSelector"] = map[string]any{"matchLabels": map[string]any{"holdfast.dev/rescheduling": "enabled"}}
}

// define applies a definition, and returns when the kind is served.
func (env *Environment) define(ctx context.Context, kind schema.GroupVersionKind, file ...string) error {
	if err := env.Apply(ctx, "", env.File(file...)); err != nil {
		return err
	}
	return env.awaitKind(ctx, kind)
}

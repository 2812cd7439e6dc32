package framework

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/testbed"
	"github.com/holdfast-project/holdfast/e2e/testbed/binaries"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

const (
	publishedProgram  = "published-jobset-bench"
	publishedWebhooks = 9848
	publishedHealth   = "127.0.0.1:18848"
	// publishedAgentImage is the upstream agent's image.
	publishedAgentImage = "localhost/holdfast/published-jobset-agent:dev"
)

// PublishedManager is an upstream JobSet manager that runs alongside ours or replaces it.
type PublishedManager struct {
	Command  []string
	Webhooks string // file with its webhook configurations
}

// PublishedAddresses holds the addresses at which the upstream JobSet manager serves.
type PublishedAddresses struct {
	WebhookPort     int
	Metrics, Health string
	// Kubeconfig is the path of its account's kubeconfig. The default is the cluster administrator's kubeconfig.
	Kubeconfig string
}

// PublishedAgent builds the agent for the upstream controller's InPlaceRestart, unless it exists, and returns its
// path.
func (env *Environment) PublishedAgent(ctx context.Context) (string, error) {
	agent := binaries.PublishedJobSetAgent()
	_, err := binaries.Build(ctx, env.Cluster.Layout().Bin(), []binaries.Component{agent}, os.Stderr)
	return filepath.Join(env.Cluster.Layout().Bin(), agent.Name), err
}

// PublishedManager builds the upstream JobSet manager, unless it exists. It configures the manager with its defaults
// and InPlaceRestart, without leader election.
func (env *Environment) PublishedManager(ctx context.Context, at PublishedAddresses) (PublishedManager, error) {
	if _, err := binaries.Build(ctx, env.Cluster.Layout().Bin(), []binaries.Component{binaries.PublishedJobSet()}, os.Stderr); err != nil {
		return PublishedManager{}, err
	}
	module, err := binaries.ModuleDir(ctx, binaries.JobSetModule, "sigs.k8s.io/jobset")
	if err != nil {
		return PublishedManager{}, err
	}
	certificates, err := env.ServingFolder()
	if err != nil {
		return PublishedManager{}, err
	}
	config := filepath.Join(certificates, "config.yaml")
	content := fmt.Sprintf(`apiVersion: config.jobset.x-k8s.io/v1alpha1
kind: Configuration
webhook: {port: %d, certDir: %s}
leaderElection: {leaderElect: false}
featureGates: {InPlaceRestart: true}
metrics: {bindAddress: "%s"}
health: {healthProbeBindAddress: "%s"}
internalCertManagement: {enable: false}
`, at.WebhookPort, certificates, at.Metrics, at.Health)
	if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
		return PublishedManager{}, err
	}
	return PublishedManager{
		Command: []string{
			filepath.Join(env.Cluster.Layout().Bin(), binaries.PublishedJobSet().Name), "--kubeconfig=" + cmp.Or(at.Kubeconfig, env.Cluster.KubeconfigPath()), "--config=" + config, "--zap-devel=false",
		},
		Webhooks: filepath.Join(module, "config", "components", "webhook", "manifests.yaml"),
	}, nil
}

// InstallPublished runs the upstream controller in place of ours until restore is called. It loads the upstream agent,
// and grants it the permissions that it needs in the given namespace.
func (env *Environment) InstallPublished(ctx context.Context, namespace string) (restore func(context.Context) error, err error) {
	agent, err := env.PublishedAgent(ctx)
	if err != nil {
		return nil, err
	}
	if err := env.LoadProgram(ctx, publishedAgentImage, agent); err != nil {
		return nil, err
	}
	other, err := env.PublishedManager(ctx, PublishedAddresses{WebhookPort: publishedWebhooks, Metrics: "0", Health: publishedHealth})
	if err != nil {
		return nil, err
	}
	if err := env.Cluster.StopProgram(ctx, Manager); err != nil {
		return nil, err
	}
	restore = func(ctx context.Context) error {
		return errors.Join(env.RemoveWebhooks(ctx), env.Cluster.StopProgram(ctx, publishedProgram), env.StartManager(ctx))
	}
	for _, step := range []func() error{
		func() error {
			return env.Cluster.StartProgram(ctx, testbed.Program{Name: publishedProgram, Command: other.Command, Ready: Healthy(publishedHealth)})
		},
		func() error { return env.ApplyWebhooks(ctx, other.Webhooks, publishedWebhooks) },
		func() error { return env.allowPublishedAgents(ctx, namespace) },
		func() error { return env.awaitPublishedWebhooks(ctx, namespace) },
	} {
		if err := step(); err != nil {
			return nil, errors.Join(err, restore(context.WithoutCancel(ctx)))
		}
	}
	return restore, nil
}

// awaitPublishedWebhooks waits until a JobSet could be created. The upstream controller reports that it is ready before its webhooks are.
func (env *Environment) awaitPublishedWebhooks(ctx context.Context, namespace string) error {
	js := &v1alpha2.JobSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "dry-run"}}
	js.Spec.ReplicatedJobs = []v1alpha2.ReplicatedJob{{Name: "workers", Replicas: 1}}
	js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "worker", Image: publishedAgentImage}},
	}
	return Until(ctx, "the webhooks of the upstream controller respond", func(ctx context.Context) error {
		return env.Client.Create(ctx, js.DeepCopy(), client.DryRunAll)
	})
}

// allowPublishedAgents creates a role that allows the namespace's agents to watch their JobSet and patch their pods.
func (env *Environment) allowPublishedAgents(ctx context.Context, namespace string) error {
	meta := metav1.ObjectMeta{Name: "in-place-restart-agent", Namespace: namespace}
	for _, object := range []client.Object{
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"jobset.x-k8s.io"}, Resources: []string{"jobsets"}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "patch"}},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "default", Namespace: namespace}},
		},
	} {
		if err := client.IgnoreAlreadyExists(env.Client.Create(ctx, object)); err != nil {
			return err
		}
	}
	return nil
}

// PublishedStrategy configures a JobSet with one replicatedJob as the upstream controller requires for InPlaceRestart.
func PublishedStrategy(js *v1alpha2.JobSet) {
	js.Spec.FailurePolicy.RestartStrategy = v1alpha2.InPlaceRestart
	job := &js.Spec.ReplicatedJobs[0].Template.Spec
	job.BackoffLimit, job.PodReplacementPolicy = ptr.To[int32](math.MaxInt32), ptr.To(batchv1.Failed)
}

// PublishedInPlace makes the upstream controller restart a JobSet with one replicatedJob in place. It adds the upstream agent as a sidecar, as
// in its design document. The kubelet restarts all containers of a pod when its worker fails, or when its agent exits because another agent did.
func PublishedInPlace(js *v1alpha2.JobSet) {
	PublishedStrategy(js)
	pod := &js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec
	pod.RestartPolicy = corev1.RestartPolicyNever
	field := func(variable, path string) corev1.EnvVar {
		return corev1.EnvVar{Name: variable, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
	}
	restart := func(operator corev1.ContainerRestartRuleOnExitCodesOperator, code int32) []corev1.ContainerRestartRule {
		return []corev1.ContainerRestartRule{{
			Action:    corev1.ContainerRestartRuleActionRestartAllContainers,
			ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: operator, Values: []int32{code}},
		}}
	}
	worker := &pod.Containers[0]
	worker.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyNever)
	worker.RestartPolicyRules = restart(corev1.ContainerRestartRuleOnExitCodesOpNotIn, 0)
	pod.InitContainers = []corev1.Container{{
		Name: "agent", Image: publishedAgentImage, RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways),
		RestartPolicyRules: restart(corev1.ContainerRestartRuleOnExitCodesOpIn, 1),
		Env:                []corev1.EnvVar{field("POD_NAME", "metadata.name"), field("JOBSET_NAME", "metadata.annotations['jobset.sigs.k8s.io/jobset-name']")},
		StartupProbe: &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/barrier-is-down", Port: intstr.FromInt32(8081)}},
			PeriodSeconds: 1, FailureThreshold: 600,
		},
	}}
}

package charts

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const reschedulerChart = "rescheduler"

// reschedulerSettings are the values of the renderings that all tests look at.
var reschedulerSettings = map[string]string{
	"default": ``,
	"ha": `
replicaCount: 2
scheduler: {enabled: true, replicaCount: 2}
podDisruptionBudget: {enabled: true}
topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app.kubernetes.io/component: manager}}}]
`,
	"cert manager": `
certificates: {mode: certManager}
certManager: {issuerRef: {name: cluster, kind: ClusterIssuer}}
`,
	"everything": `
commonLabels: {team: training}
replicaCount: 2
image: {registry: registry.example, digest: "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}
serviceAccount: {name: mover}
rbac: {ownerKinds: [{apiGroups: [sparkoperator.k8s.io], resources: [sparkapplications]}]}
webhook: {port: 9444, timeoutSeconds: 1}
certificates: {mode: certManager}
scheduler: {enabled: true, replicaCount: 2}
config: {rescheduling: {dryRun: true, limits: {node: {burst: 3, every: 10s}}}}
metrics:
  port: 9443
  serviceMonitor: {enabled: true}
  prometheusRule: {enabled: true, labels: {prometheus: main}, disabledAlerts: [HoldfastControllerFallsBehind]}
  dashboards: {enabled: true, namespace: grafana, labels: {grafana_dashboard: null, board: "yes"}, annotations: {grafana_folder: Training}}
networkPolicy: {enabled: true, metricsFrom: [{namespaceSelector: {matchLabels: {name: monitoring}}}]}
podDisruptionBudget: {enabled: true}
`,
	"policy": `
webhook: {enabled: false}
admissionPolicy: {enabled: true}
config: {rescheduling: {enforcement: {schedulerNames: [default-scheduler]}}}
`,
}

func reschedulerFile(parts ...string) string {
	return filepath.Join(append([]string{"..", "rescheduler", "config"}, parts...)...)
}

func TestReschedulerWebhooksAreThoseOfTheMarkers(t *testing.T) {
	file := reschedulerFile("webhook", "manifests.yaml")
	generated := parse(t, file, string(mustRead(t, file)))
	all := mustParse(t, reschedulerChart, "")
	for _, kind := range []string{mutating} {
		want, got := generated.named(t, kind, ""), all.named(t, kind, "")
		if want.GetName() != got.GetName() {
			t.Errorf("it is %s, want %s", got.GetName(), want.GetName())
		}
		hooks, _, _ := unstructured.NestedSlice(got.Object, "webhooks")
		wanted, _, _ := unstructured.NestedSlice(want.Object, "webhooks")
		for i, hook := range hooks {
			hook := hook.(map[string]any)
			delete(hook, "matchConditions")
			delete(hook, "namespaceSelector")
			unstructured.RemoveNestedField(hook, "clientConfig", "service", "namespace")
			unstructured.RemoveNestedField(wanted[i].(map[string]any), "clientConfig", "service", "namespace")
		}
		if diff := cmp.Diff(wanted, hooks); diff != "" {
			t.Errorf("not that of config/webhook (-marker +chart):\n%s", diff)
		}
	}
	configuration := as[admissionv1.MutatingWebhookConfiguration](t, all.named(t, mutating, ""))
	service := as[corev1.Service](t, all.named(t, "Service", configuration.Webhooks[0].ClientConfig.Service.Name))
	if service.Spec.Ports[0].Port != 443 {
		t.Errorf("the Service has port %+v", service.Spec.Ports[0])
	}
}

func TestReschedulerValuesAreRefused(t *testing.T) {
	for values, want := range map[string]string{
		`replicas: 2`:                                         "additional properties 'replicas' not allowed",
		`rbac: {ownerKinds: [{apiGroups: [a]}]}`:              "/rbac/ownerKinds/0",
		`{replicaCount: 2, leaderElection: {enabled: false}}`: "replicaCount: more than one manager needs",
	} {
		if _, err := render(t, reschedulerChart, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", values, err)
		}
	}
}

// The webhook holds nobody up: it fails open, quickly, and is asked only where it is needed.
func TestReschedulerWebhookHoldsNobodyUp(t *testing.T) {
	hook := as[admissionv1.MutatingWebhookConfiguration](t, mustParse(t, reschedulerChart, "").named(t, mutating, "")).Webhooks[0]
	if *hook.FailurePolicy != admissionv1.Ignore || *hook.TimeoutSeconds > 2 {
		t.Errorf("policy %s, time-out %d s", *hook.FailurePolicy, *hook.TimeoutSeconds)
	}
	if got := hook.NamespaceSelector.MatchLabels["holdfast.dev/rescheduling"]; got != "enabled" {
		t.Errorf("it is asked in namespaces with %v", hook.NamespaceSelector)
	}
}

func TestReschedulerPolicyStandsInForTheWebhook(t *testing.T) {
	all := mustParse(t, reschedulerChart, reschedulerSettings["policy"])
	all.named(t, "MutatingAdmissionPolicy", "")
	all.named(t, "MutatingAdmissionPolicyBinding", "")
	if found := all.find(mutating); len(found) > 0 {
		t.Errorf("%d webhooks are there too", len(found))
	}
	config := as[corev1.ConfigMap](t, all.named(t, "ConfigMap", ""))
	if file := config.Data["config.yaml"]; !strings.Contains(file, "way: Policy") || !strings.Contains(file, "default-scheduler") {
		t.Errorf("the file is %s", file)
	}
	if _, err := render(t, reschedulerChart, "admissionPolicy: {enabled: true}"); err == nil || !strings.Contains(err.Error(), "stands in for the webhook") {
		t.Errorf("both at once: %v", err)
	}
}

func TestReschedulerSchedulerIsBoundToItsAccount(t *testing.T) {
	all := mustParse(t, reschedulerChart, reschedulerSettings["everything"])
	all.named(t, "ServiceAccount", "holdfast-scheduler")
	for _, name := range []string{"holdfast-scheduler", "holdfast-scheduler-as-kube-scheduler", "holdfast-scheduler-as-volume-scheduler"} {
		binding := as[rbacv1.ClusterRoleBinding](t, all.named(t, "ClusterRoleBinding", name))
		if s := binding.Subjects[0]; s.Name != "holdfast-scheduler" || s.Namespace != "holdfast" {
			t.Errorf("%s binds %v", name, s)
		}
	}
	want := mustRead(t, filepath.Join("..", "rescheduler", "scheduler", "config", "second-scheduler.yaml"))
	if diff := cmp.Diff(string(want), string(mustRead(t, filepath.Join(reschedulerChart, "files", "scheduler", "config.yaml")))); diff != "" {
		t.Errorf("not the file of the scheduler (make generate):\n%s", diff)
	}
}

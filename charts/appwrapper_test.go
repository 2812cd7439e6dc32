package charts

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const appWrapperChart = "appwrapper-controller"

// appWrapperSettings are the values of the renderings that all tests look at.
var appWrapperSettings = map[string]string{
	"default": ``,
	"ha": `
replicaCount: 2
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
serviceAccount: {name: appwrappers}
rbac: {wrappedKinds: [{apiGroups: [sparkoperator.k8s.io], resources: [sparkapplications]}]}
crds: {keep: false}
webhook: {port: 9444, failurePolicy: Ignore}
certificates: {mode: certManager}
config: {appwrapper: {faultTolerance: {retryLimit: 5, resetPause: 10s}}}
metrics:
  port: 9443
  serviceMonitor: {enabled: true}
  prometheusRule: {enabled: true, labels: {prometheus: main}, disabledAlerts: [HoldfastControllerFallsBehind]}
  dashboards: {enabled: true, namespace: grafana, labels: {grafana_dashboard: null, board: "yes"}, annotations: {grafana_folder: Training}}
networkPolicy: {enabled: true, metricsFrom: [{namespaceSelector: {matchLabels: {name: monitoring}}}]}
podDisruptionBudget: {enabled: true}
`,
}

func appWrapperFile(parts ...string) string {
	return filepath.Join(append([]string{"..", "appwrapper-controller", "config"}, parts...)...)
}

func TestAppWrapperWebhooksAreThoseOfTheMarkers(t *testing.T) {
	file := appWrapperFile("webhook", "manifests.yaml")
	generated := parse(t, file, string(mustRead(t, file)))
	all := mustParse(t, appWrapperChart, "")
	for _, kind := range []string{"MutatingWebhookConfiguration", validating} {
		want, got := generated.named(t, kind, ""), all.named(t, kind, "")
		if want.GetName() != got.GetName() {
			t.Errorf("it is %s, want %s", got.GetName(), want.GetName())
		}
		hooks, _, _ := unstructured.NestedSlice(got.Object, "webhooks")
		wanted, _, _ := unstructured.NestedSlice(want.Object, "webhooks")
		for i, hook := range hooks {
			hook := hook.(map[string]any)
			delete(hook, "matchConditions")
			delete(hook, "timeoutSeconds")
			unstructured.RemoveNestedField(hook, "clientConfig", "service", "namespace")
			unstructured.RemoveNestedField(wanted[i].(map[string]any), "clientConfig", "service", "namespace")
		}
		if diff := cmp.Diff(wanted, hooks); diff != "" {
			t.Errorf("not that of config/webhook (-marker +chart):\n%s", diff)
		}
	}
	configuration := as[admissionv1.ValidatingWebhookConfiguration](t, all.named(t, validating, ""))
	service := as[corev1.Service](t, all.named(t, "Service", configuration.Webhooks[0].ClientConfig.Service.Name))
	if service.Spec.Ports[0].Port != 443 {
		t.Errorf("the Service has port %+v", service.Spec.Ports[0])
	}
}

// The file that the manager is told of is the one that is mounted.
func TestTheAppWrapperConfigIsMounted(t *testing.T) {
	all := mustParse(t, appWrapperChart, appWrapperSettings["everything"])
	content, _, _ := unstructured.NestedString(all.find("ConfigMap")[0].Object, "data", "config.yaml")
	if !strings.Contains(content, "retryLimit: 5") {
		t.Errorf("the file is %q", content)
	}
	manager := all.container(t, "manager")
	folder := ""
	for _, mount := range manager.VolumeMounts {
		if mount.Name == "config" {
			folder = mount.MountPath
		}
	}
	if !slices.Contains(manager.Args, "--config="+folder+"/config.yaml") {
		t.Errorf("it is mounted at %q, arguments %q", folder, manager.Args)
	}
	if found := mustParse(t, appWrapperChart, "").find("ConfigMap"); len(found) > 0 {
		t.Error("an empty file is rendered")
	}
}

func TestAppWrapperValuesAreRefused(t *testing.T) {
	for values, want := range map[string]string{
		`replicas: 2`: "additional properties 'replicas' not allowed",
		`rbac: {wrappedKinds: [{apiGroups: [a]}]}`:            "/rbac/wrappedKinds/0",
		`{replicaCount: 2, leaderElection: {enabled: false}}`: "replicaCount: more than one manager needs",
	} {
		if _, err := render(t, appWrapperChart, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", values, err)
		}
	}
}

package charts

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

const appWrapperChart = "appwrapper-controller"

// appWrapperSettings are the values of the renderings that all tests look at.
var appWrapperSettings = map[string]string{
	"default": ``,
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
metrics: {port: 9443, serviceMonitor: {enabled: true}}
podDisruptionBudget: {enabled: true}
`,
}

func appWrapperFile(parts ...string) string {
	return filepath.Join(append([]string{"..", "appwrapper-controller", "config"}, parts...)...)
}

func TestAppWrapperGoldens(t *testing.T) {
	for name, values := range appWrapperSettings {
		t.Run(name, func(t *testing.T) {
			files := mustRender(t, appWrapperChart, values)
			var b strings.Builder
			for _, file := range slices.Sorted(maps.Keys(files)) {
				content := strings.TrimSpace(files[file])
				if content != "" && path.Base(file) != "crds.yaml" && !strings.HasSuffix(file, ".tpl") {
					b.WriteString("### " + file + "\n" + content + "\n")
				}
			}
			golden := filepath.Join("testdata", appWrapperChart, name+".yaml")
			if *update {
				if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), b.String()); diff != "" {
				t.Errorf("not as in %s (go test -update writes it again), -want +got:\n%s", golden, diff)
			}
		})
	}
}

func TestAppWrapperCRDIsTheGeneratedOne(t *testing.T) {
	file := appWrapperFile("crd", "bases", "workload.codeflare.dev_appwrappers.yaml")
	want := parse(t, file, string(mustRead(t, file)))[0]
	got := mustParse(t, appWrapperChart, "").named(t, "CustomResourceDefinition", "appwrappers.workload.codeflare.dev")
	annotations := got.GetAnnotations()
	if annotations[keep] != "keep" {
		t.Errorf("annotation %s is %q", keep, annotations[keep])
	}
	delete(annotations, keep)
	got.SetAnnotations(annotations)
	unstructured.RemoveNestedField(got.Object, "metadata", "labels")
	if diff := cmp.Diff(want.Object, got.Object); diff != "" {
		t.Errorf("not that of config/crd/bases (-want +got):\n%s", diff)
	}
}

func TestAppWrapperRulesAreThoseOfTheMarkers(t *testing.T) {
	file := appWrapperFile("rbac", "role.yaml")
	generated := parse(t, file, string(mustRead(t, file)))
	for name, values := range appWrapperSettings {
		all := mustParse(t, appWrapperChart, values)
		for _, kind := range []string{"ClusterRole", "Role"} {
			if diff := cmp.Diff(rules(t, generated.named(t, kind, "manager-role")), rules(t, all.named(t, kind, "-manager"))); diff != "" {
				t.Errorf("%s: %s (-marker +chart):\n%s", name, kind, diff)
			}
			checkBinding(t, all, kind, "manager")
		}
	}
	checkBinding(t, mustParse(t, appWrapperChart, appWrapperSettings["everything"]), "ClusterRole", "wrapped")
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

func TestAppWrapperPodsAreRestricted(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for name, values := range appWrapperSettings {
		for pod, template := range mustParse(t, appWrapperChart, values).podTemplates(t) {
			if result := policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &template.ObjectMeta, &template.Spec)); !result.Allowed {
				t.Errorf("%s: %s: %s", name, pod, result.ForbiddenDetail())
			}
		}
	}
}

func TestTheAppWrapperManagerTakesTheArguments(t *testing.T) {
	program := filepath.Join(t.TempDir(), "manager")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/manager")
	build.Dir = filepath.Join("..", "appwrapper-controller")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	for _, values := range appWrapperSettings {
		accepts(t, program, mustParse(t, appWrapperChart, values).container(t, "manager").Args)
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

func TestAppWrapperSchemaListsTheValues(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(mustRead(t, filepath.Join(appWrapperChart, "values.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	definitions, _ := schema["definitions"].(map[string]any)
	compareKeys(t, "", schema, definitions, loadChart(t, appWrapperChart).Values)
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

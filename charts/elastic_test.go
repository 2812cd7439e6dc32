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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

const elasticChart = "elastic-operator"

// elasticSettings are the values of the renderings that all tests look at.
var elasticSettings = map[string]string{
	"default": ``,
	"everything": `
commonLabels: {team: training}
replicaCount: 2
image: {registry: registry.example, digest: "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}
serviceAccount: {name: elastic}
crds: {keep: false}
rendezvous: {image: {registry: registry.example}}
kueue: {enabled: true, waitForPodsReady: false, featureGates: "PartialAdmission=true"}
config: {clientConnection: {qps: 100}}
metrics: {port: 9443, serviceMonitor: {enabled: true}}
podDisruptionBudget: {enabled: true}
`,
	"bare": `
rendezvous: {enabled: false}
metrics: {enabled: false}
rbac: {aggregateClusterRoles: false}
`,
}

func elasticFile(parts ...string) string {
	return filepath.Join(append([]string{"..", "elastic-operator"}, parts...)...)
}

func TestElasticGoldens(t *testing.T) {
	for name, values := range elasticSettings {
		t.Run(name, func(t *testing.T) {
			files := mustRender(t, elasticChart, values)
			var b strings.Builder
			for _, file := range slices.Sorted(maps.Keys(files)) {
				content := strings.TrimSpace(files[file])
				if content != "" && path.Base(file) != "crds.yaml" && !strings.HasSuffix(file, ".tpl") {
					b.WriteString("### " + file + "\n" + content + "\n")
				}
			}
			golden := filepath.Join("testdata", elasticChart, name+".yaml")
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

func TestElasticCRDIsTheGeneratedOne(t *testing.T) {
	file := elasticFile("config", "crd", "bases", "elastic.pytorch.org_elasticjobs.yaml")
	want := parse(t, file, string(mustRead(t, file)))[0]
	got := mustParse(t, elasticChart, "").named(t, "CustomResourceDefinition", "elasticjobs.elastic.pytorch.org")
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

func TestElasticRulesAreThoseOfTheMarkers(t *testing.T) {
	for program, from := range map[string]struct{ role, file, values string }{
		"elastic-operator-manager": {"manager-role", elasticFile("config", "rbac", "role.yaml"), elasticSettings["default"]},
		"elastic-operator-kueue":   {"kueue-role", elasticFile("kueue", "config", "rbac", "role.yaml"), elasticSettings["everything"]},
	} {
		generated := parse(t, from.file, string(mustRead(t, from.file)))
		all := mustParse(t, elasticChart, from.values)
		for _, kind := range []string{"ClusterRole", "Role"} {
			if diff := cmp.Diff(rules(t, generated.named(t, kind, from.role)), rules(t, all.named(t, kind, program))); diff != "" {
				t.Errorf("%s: %s (-marker +chart):\n%s", program, kind, diff)
			}
		}
	}
	checkBinding(t, mustParse(t, elasticChart, ""), "ClusterRole", "manager")
}

func TestElasticPodsAreRestricted(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for name, values := range elasticSettings {
		for pod, template := range mustParse(t, elasticChart, values).podTemplates(t) {
			if result := policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &template.ObjectMeta, &template.Spec)); !result.Allowed {
				t.Errorf("%s: %s: %s", name, pod, result.ForbiddenDetail())
			}
		}
	}
}

func TestTheElasticProgramsTakeTheArguments(t *testing.T) {
	for container, from := range map[string]struct {
		folder, values string
		env            []string
	}{
		"manager": {elasticFile(), elasticSettings["default"], nil},
		"kueue":   {elasticFile("kueue"), elasticSettings["everything"], []string{"GOWORK=off"}}, // its module is not in the workspace
	} {
		program := filepath.Join(t.TempDir(), container)
		build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/manager")
		build.Dir, build.Env = from.folder, append(os.Environ(), from.env...)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("building: %v\n%s", err, out)
		}
		accepts(t, program, mustParse(t, elasticChart, from.values).container(t, container).Args)
	}
}

func TestTheManagerIsToldOfTheRendezvousServer(t *testing.T) {
	has := func(values string) bool {
		return slices.ContainsFunc(mustParse(t, elasticChart, values).container(t, "manager").Args, func(arg string) bool {
			return strings.HasPrefix(arg, "--rendezvous-image=")
		})
	}
	if !has("") || has(elasticSettings["bare"]) {
		t.Error("--rendezvous-image does not follow rendezvous.enabled")
	}
}

func TestElasticSchemaListsTheValues(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(mustRead(t, filepath.Join(elasticChart, "values.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	definitions, _ := schema["definitions"].(map[string]any)
	compareKeys(t, "", schema, definitions, loadChart(t, elasticChart).Values)
	for values, want := range map[string]string{
		`replicas: 2`:                                         "additional properties 'replicas' not allowed",
		`kueue: {featureGates: on}`:                           "/kueue/featureGates",
		`rendezvous: {image: {tag: latest}}`:                  "/rendezvous/image/tag",
		`{replicaCount: 2, leaderElection: {enabled: false}}`: "replicaCount: more than one manager needs",
	} {
		if _, err := render(t, elasticChart, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", values, err)
		}
	}
}

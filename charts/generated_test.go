package charts

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	release "helm.sh/helm/v4/pkg/release/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const keep = "helm.sh/resource-policy"

func rules(t *testing.T, role *unstructured.Unstructured) []rbacv1.PolicyRule {
	t.Helper()
	role.SetNamespace("") // a Role and a ClusterRole have the same rules
	return as[rbacv1.Role](t, role).Rules
}

// rights returns each individual permission in the rules: group, resource, name and verb.
func rights(rules []rbacv1.PolicyRule) []string {
	all := []string{}
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{"*"}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, name := range names {
					for _, verb := range rule.Verbs {
						all = append(all, strings.Join([]string{group, resource, name, verb}, " "))
					}
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// checkBinding checks that the role is bound only to the account of the program's pods, and that the chart creates this account.
func checkBinding(t *testing.T, all objects, kind, ending, program string) {
	t.Helper()
	binding := as[rbacv1.RoleBinding](t, all.named(t, kind+"Binding", ending))
	if role := all.named(t, kind, ending).GetName(); binding.RoleRef.Kind != kind || binding.RoleRef.Name != role {
		t.Errorf("%s binds %s %s, not %s", binding.Name, binding.RoleRef.Kind, binding.RoleRef.Name, role)
	}
	account := accountOf(t, all, program)
	want := []rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: "holdfast"}}
	if diff := cmp.Diff(want, binding.Subjects); diff != "" {
		t.Errorf("subjects of %s (-want +got):\n%s", binding.Name, diff)
	}
	if account == "" || !slices.ContainsFunc(all.find("ServiceAccount"), func(o *unstructured.Unstructured) bool { return o.GetName() == account }) {
		t.Errorf("the pods run as %q, which the chart does not create", account)
	}
}

// accountOf returns the service account of the pods that run a program.
func accountOf(t *testing.T, all objects, program string) string {
	t.Helper()
	for _, pod := range all.podTemplates(t) {
		if slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == program }) {
			return pod.Spec.ServiceAccountName
		}
	}
	return ""
}

// The manager gets permissions for the kinds that a user adds in the values.
func TestManagerGetsPermissionsFromValues(t *testing.T) {
	checkBinding(t, mustParse(t, appWrapperChart, installed[appWrapperChart].settings["everything"]), "ClusterRole", "-wrapped", "manager")
	checkBinding(t, mustParse(t, reschedulerChart, ""), "ClusterRole", "-owners", "manager")
}

func TestNoOrchestratorPermissionsWithoutOrchestrator(t *testing.T) {
	for _, obj := range mustParse(t, jobSetChart, "") {
		if strings.Contains(obj.GetName(), "orchestrator") {
			t.Errorf("%s %s is rendered", obj.GetKind(), obj.GetName())
		}
	}
}

// definitions maps the charts to their CRDs.
var definitions = map[string]string{
	jobSetChart:     filepath.Join(jobSetChart, "files", "crds", "jobset.x-k8s.io_jobsets.yaml"),
	appWrapperChart: filepath.Join(appWrapperChart, "files", "crds", "workload.codeflare.dev_appwrappers.yaml"),
	elasticChart:    filepath.Join(elasticChart, "files", "crds", "elastic.pytorch.org_elasticjobs.yaml"),
}

func TestCRDsAreGenerated(t *testing.T) {
	for chart, file := range definitions {
		for values, kept := range map[string]string{``: "keep", `crds: {keep: false}`: ""} {
			want := parse(t, file, string(mustRead(t, file)))[0]
			got := mustParse(t, chart, values).named(t, "CustomResourceDefinition", want.GetName())
			annotations := got.GetAnnotations()
			if annotations[keep] != kept {
				t.Errorf("%s: annotation %s is %q, want %q", chart, keep, annotations[keep], kept)
			}
			delete(annotations, keep)
			got.SetAnnotations(annotations)
			unstructured.RemoveNestedField(got.Object, "metadata", "labels")
			if diff := cmp.Diff(want.Object, got.Object); diff != "" {
				t.Errorf("%s: differs from the generated one (-want +got):\n%s", chart, diff)
			}
		}
	}
}

// `kubectl apply` stores each object as JSON in an annotation, and the annotations of an object may take up at most 256 KiB.
func TestCRDsFitIntoAnnotation(t *testing.T) {
	for chart, file := range definitions {
		crd := parse(t, file, string(mustRead(t, file)))[0]
		raw, err := crd.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if limit := 200 << 10; len(raw) > limit { // leaves space for labels and for future fields
			t.Errorf("%s: the definition has %d bytes, more than %d", chart, len(raw), limit)
		}
	}
}

// The definitions describe all fields, except the fields of pod specs.
func TestCRDsDescribeOurFields(t *testing.T) {
	for chart, file := range definitions {
		crd := parse(t, file, string(mustRead(t, file)))[0]
		versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
		if err != nil || len(versions) == 0 {
			t.Fatalf("%s has no versions (%v)", chart, err)
		}
		for _, version := range versions {
			schema, _, err := unstructured.NestedMap(version.(map[string]any), "schema", "openAPIV3Schema")
			if err != nil {
				t.Fatal(err)
			}
			if described := checkDescriptions(t, chart, schema); described < 30 {
				t.Errorf("%s: only %d fields are described", chart, described)
			}
		}
	}
}

// checkDescriptions returns how many fields of a schema have a description. It skips metadata.
func checkDescriptions(t *testing.T, path string, schema map[string]any) int {
	t.Helper()
	described := 0
	for _, key := range []string{"items", "additionalProperties"} {
		if below, ok := schema[key].(map[string]any); ok {
			described += checkDescriptions(t, path+"[]", below)
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	if _, isPodSpec := properties["containers"]; isPodSpec {
		return described
	}
	for name, property := range properties {
		if name == "metadata" {
			continue
		}
		property := property.(map[string]any)
		if description, _ := property["description"].(string); description == "" {
			t.Errorf("%s.%s has no description", path, name)
		} else {
			described++
		}
		described += checkDescriptions(t, path+"."+name, property)
	}
	return described
}

// The upstream controller panics on JobSets without the webhook's defaults, so it must not be possible to create such a JobSet during a
// migration back to it.
func TestUninstallKeepsCRDAndWebhooks(t *testing.T) {
	for values, kept := range map[string]string{``: "keep", `crds: {keep: false}`: "", `certificates: {mode: certManager}`: "keep"} {
		for _, kind := range []string{validating, mutating} {
			annotations := mustParse(t, jobSetChart, values).named(t, kind, "").GetAnnotations()
			if annotations[keep] != kept {
				t.Errorf("%q: annotation %s of the %s is %q, want %q", values, keep, kind, annotations[keep], kept)
			}
		}
	}
}

func TestCRDsAreOptional(t *testing.T) {
	for chart := range definitions {
		if found := mustParse(t, chart, `crds: {enabled: false}`).find("CustomResourceDefinition"); len(found) != 0 {
			t.Errorf("%s: %d definitions are rendered", chart, len(found))
		}
	}
}

// role holds the permissions that the markers in a program's code request, and the suffix of the role's name in the chart.
type role struct {
	file, name, ending string
	features           string // part of the values that enable all of the program's features; empty if the permissions do not depend on values
}

// roles lists, for each chart, the roles of the programs that always run, and of those that a value enables.
var roles = map[string]map[string]role{
	jobSetChart: {
		"":              {filepath.Join(jobSetChart, "files", "rbac", "manager.yaml"), "manager-role", "-manager", ""},
		"orchestrator:": {filepath.Join(jobSetChart, "files", "rbac", "orchestrator.yaml"), "orchestrator-role", "-orchestrator", ""},
	},
	appWrapperChart:  {"": {filepath.Join(appWrapperChart, "files", "rbac", "manager.yaml"), "manager-role", "-manager", ""}},
	reschedulerChart: {"": {filepath.Join(reschedulerChart, "files", "rbac", "manager.yaml"), "manager-role", "-manager", "barePods: {recreate: true}"}},
	elasticChart: {
		"":       {filepath.Join(elasticChart, "files", "rbac", "manager.yaml"), "manager-role", "-manager", ""},
		"kueue:": {filepath.Join(elasticChart, "files", "rbac", "kueue.yaml"), "kueue-role", "-kueue", ""},
	},
}

func TestRBACRulesMatchMarkers(t *testing.T) {
	eachRendering(t, func(t *testing.T, chart, _, values string) {
		all := mustParse(t, chart, values)
		for switchedOnBy, role := range roles[chart] {
			if !strings.Contains(values, switchedOnBy) {
				continue
			}
			generated := parse(t, role.file, string(mustRead(t, role.file)))
			for _, kind := range []string{"ClusterRole", "Role"} {
				marked, granted := rights(rules(t, generated.named(t, kind, role.name))), rights(rules(t, all.named(t, kind, role.ending)))
				if role.features != "" && !strings.Contains(values, role.features) { // without the feature, the chart grants fewer permissions and no additional ones
					marked = slices.DeleteFunc(marked, func(right string) bool { return !slices.Contains(granted, right) })
				}
				if diff := cmp.Diff(marked, granted); diff != "" {
					t.Errorf("%s %s (-marker +chart):\n%s", kind, role.ending, diff)
				}
				checkBinding(t, all, kind, role.ending, strings.TrimPrefix(role.ending, "-"))
			}
		}
	})
}

// Helm stores each release in one Secret of at most 1 MiB. The release contains the chart and the manifest, and both contain the CRD.
func TestReleasesFitIntoSecret(t *testing.T) {
	for chart, entry := range installed {
		size := releaseSize(t, chart, entry.settings["everything"])
		t.Logf("%s: a release takes %d KiB", chart, size>>10)
		if limit := 1 << 20 * 3 / 4; size > limit { // a quarter is left for values and metadata
			t.Errorf("%s: a release takes %d bytes, more than %d", chart, size, limit)
		}
	}
}

func releaseSize(t *testing.T, chart, values string) int {
	t.Helper()
	var manifest strings.Builder
	for file, content := range mustRender(t, chart, values) {
		if filepath.Base(file) != notes {
			manifest.WriteString("---\n# Source: " + file + "\n" + content)
		}
	}
	raw, err := json.Marshal(&release.Release{Name: "test", Chart: loadChart(t, chart), Manifest: manifest.String()})
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodedLen(packed.Len())
}

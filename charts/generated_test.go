package charts

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	release "helm.sh/helm/v4/pkg/release/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var (
	crdFile   = filepath.Join("..", "jobset-controller", "config", "crd", "bases", "jobset.x-k8s.io_jobsets.yaml")
	roleFiles = map[string]string{
		"manager":      filepath.Join("..", "jobset-controller", "config", "rbac", "role.yaml"),
		"orchestrator": filepath.Join("..", "jobset-controller", "config", "rbac", "orchestrator", "role.yaml"),
	}
)

const keep = "helm.sh/resource-policy"

func TestCRDIsTheGeneratedOne(t *testing.T) {
	want := parse(t, crdFile, string(mustRead(t, crdFile)))[0]
	for name, c := range map[string]struct {
		values string
		keep   string
	}{
		"kept":     {``, "keep"},
		"not kept": {`crds: {keep: false}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := mustParse(t, jobSetChart, c.values).named(t, "CustomResourceDefinition", "jobsets.jobset.x-k8s.io")
			annotations := got.GetAnnotations()
			if annotations[keep] != c.keep {
				t.Errorf("annotation %s is %q, want %q", keep, annotations[keep], c.keep)
			}
			delete(annotations, keep)
			got.SetAnnotations(annotations)
			unstructured.RemoveNestedField(got.Object, "metadata", "labels")
			if diff := cmp.Diff(want.Object, got.Object); diff != "" {
				t.Errorf("not that of config/crd/bases (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCRDCanBeLeftOut(t *testing.T) {
	if found := mustParse(t, jobSetChart, `crds: {enabled: false}`).find("CustomResourceDefinition"); len(found) != 0 {
		t.Errorf("%d definitions are rendered", len(found))
	}
}

func TestRulesAreThoseOfTheMarkers(t *testing.T) {
	for name, values := range settings {
		t.Run(name, func(t *testing.T) {
			all := mustParse(t, jobSetChart, values)
			for program, file := range roleFiles {
				if program == "orchestrator" && name == "default" {
					continue
				}
				generated := parse(t, file, string(mustRead(t, file)))
				for _, kind := range []string{"ClusterRole", "Role"} {
					want, got := rules(t, generated.named(t, kind, program+"-role")), rules(t, all.named(t, kind, "-"+program))
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("%s of the %s (-marker +chart):\n%s", kind, program, diff)
					}
					checkBinding(t, all, kind, program)
				}
			}
		})
	}
}

func rules(t *testing.T, role *unstructured.Unstructured) []rbacv1.PolicyRule {
	t.Helper()
	role.SetNamespace("") // a Role and a ClusterRole have the same rules
	return as[rbacv1.Role](t, role).Rules
}

// checkBinding: the role is bound to the account that the pods run as, and to nobody else.
func checkBinding(t *testing.T, all objects, kind, program string) {
	t.Helper()
	binding := as[rbacv1.RoleBinding](t, all.named(t, kind+"Binding", "-"+program))
	if role := all.named(t, kind, "-"+program).GetName(); binding.RoleRef.Kind != kind || binding.RoleRef.Name != role {
		t.Errorf("%s binds %s %s, not %s", binding.Name, binding.RoleRef.Kind, binding.RoleRef.Name, role)
	}
	account := ""
	for _, pod := range all.podTemplates(t) {
		account = max(account, pod.Spec.ServiceAccountName)
	}
	want := []rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: "holdfast"}}
	if diff := cmp.Diff(want, binding.Subjects); diff != "" {
		t.Errorf("subjects of %s (-want +got):\n%s", binding.Name, diff)
	}
	if account == "" || all.find("ServiceAccount")[0].GetName() != account {
		t.Errorf("the pods run as %q, which the chart does not create", account)
	}
}

func TestWithoutAnOrchestratorThereAreNoRightsOfIt(t *testing.T) {
	for _, obj := range mustParse(t, jobSetChart, "") {
		if strings.Contains(obj.GetName(), "orchestrator") {
			t.Errorf("%s %s is rendered", obj.GetKind(), obj.GetName())
		}
	}
}

// Helm keeps each release, chart and manifest, in one Secret of a MiB at most; the CRD is in both.
func TestReleaseFitsIntoASecret(t *testing.T) {
	c := loadChart(t, jobSetChart)
	var manifest strings.Builder
	for file, content := range mustRender(t, jobSetChart, everything) {
		if filepath.Base(file) != notes {
			manifest.WriteString("---\n# Source: " + file + "\n" + content)
		}
	}
	raw, err := json.Marshal(&release.Release{Name: "test", Chart: c, Manifest: manifest.String()})
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
	size := base64.StdEncoding.EncodedLen(packed.Len())
	t.Logf("a release takes %d KiB", size>>10)
	if limit := 1 << 20 * 3 / 4; size > limit { // a quarter is left for values and metadata
		t.Errorf("a release takes %d bytes, more than %d", size, limit)
	}
}

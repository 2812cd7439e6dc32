package charts

import (
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/charts/internal/admission"
)

// webhooksOf returns the names of the webhooks that a chart renders with its defaults.
func webhooksOf(t *testing.T, chart string) (names []string) {
	t.Helper()
	all := mustParse(t, chart, "")
	for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		for _, configuration := range all.find(kind) {
			list, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
			if err != nil {
				t.Fatal(err)
			}
			for _, webhook := range list {
				names = append(names, webhook.(map[string]any)["name"].(string))
			}
		}
	}
	slices.Sort(names)
	return names
}

// The API server counts by the names of webhooks. An alert about other names never fires.
func TestAlertsNameWebhooksOfTheirChart(t *testing.T) {
	for chart := range installed {
		if diff := cmp.Diff(webhooksOf(t, chart), slices.Sorted(slices.Values(admission.Names[chart]))); diff != "" {
			t.Errorf("%s: webhooks of the chart and names in charts/internal/admission (-chart +names):\n%s", chart, diff)
		}
	}
}

// A rule contains a regular expression in a PromQL string in YAML. Names match, and similar texts do not.
func TestPatternMatchesOnlyNames(t *testing.T) {
	var text string
	if err := yaml.Unmarshal([]byte(`"`+admission.Pattern([]string{"a.kb.io", "b"})+`"`), &text); err != nil {
		t.Fatal(err)
	}
	pattern := regexp.MustCompile("^(?:" + text + ")$")
	for name, want := range map[string]bool{"a.kb.io": true, "b": true, "aXkb.io": false, "ab": false} {
		if pattern.MatchString(name) != want {
			t.Errorf("%s: matches %t", name, !want)
		}
	}
}

package charts

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// The API server counts by webhook name. It does not distinguish webhooks of the same name in two configurations, and
// some of Kueue's webhooks have the same names as ours, which are the upstream names. An alert with wrong names never
// fires.
func TestAlertsNameWebhooksOfTheirChart(t *testing.T) {
	for chart := range installed {
		names, checked := webhooksOf(t, chart), false
		for _, alert := range alertsOf(t, chart) {
			if alert.Name != "HoldfastWebhookErrors" {
				continue
			}
			for _, pattern := range patternsOf(t, alert, "name") {
				checked = true
				matchOnly(t, chart, pattern, names)
			}
		}
		if checked != (len(names) > 0) {
			t.Errorf("%s: an alert names webhooks: %t", chart, checked)
		}
	}
}

// matchOnly checks that the pattern matches the names but no similar texts.
func matchOnly(t *testing.T, at, pattern string, names []string) {
	t.Helper()
	expression := regexp.MustCompile("^(?:" + pattern + ")$")
	for _, name := range names {
		if similar := strings.Replace(name, ".", "X", 1); !expression.MatchString(name) || expression.MatchString(similar) {
			t.Errorf("%s: %s does not match %s, or matches %s", at, pattern, name, similar)
		}
	}
	if parts := strings.Count(pattern, "|") + 1; parts != len(names) {
		t.Errorf("%s: %s matches %d names, want %d", at, pattern, parts, len(names))
	}
}

func TestDashboardsNameAllWebhooks(t *testing.T) {
	var names []string
	for chart := range installed {
		names = append(names, webhooksOf(t, chart)...)
	}
	checked := 0
	for at, text := range expressions(t) {
		if strings.HasPrefix(at, "health.json/") && (strings.Contains(text, rejections) || strings.Contains(text, skips)) {
			checked++
			matchOnly(t, at, patternsOf(t, alert{Expr: text}, "name")[0], names)
		}
	}
	if checked != 3 {
		t.Errorf("%d expressions name webhooks, want 3", checked)
	}
}

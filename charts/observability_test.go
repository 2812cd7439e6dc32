package charts

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/charts/internal/alerts"
	"github.com/holdfast-project/holdfast/charts/internal/boards"
)

func TestDashboardsAreGenerated(t *testing.T) {
	for chart, entry := range installed {
		found := mustParse(t, chart, entry.settings["everything"]).find("ConfigMap")
		for _, board := range boards.All() {
			want, err := board.JSON()
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(found, func(o *unstructured.Unstructured) bool { return as[corev1.ConfigMap](t, o).Data[board.File] != "" })
			if i < 0 {
				t.Fatalf("%s does not contain %s", chart, board.File)
			}
			config := as[corev1.ConfigMap](t, found[i])
			if diff := cmp.Diff(strings.TrimSpace(string(want)), strings.TrimSpace(config.Data[board.File])); diff != "" {
				t.Errorf("%s: %s (make generate), -want +got:\n%s", chart, board.File, diff)
			}
			if config.Namespace != "grafana" || config.Labels["board"] != "yes" || config.Labels["grafana_dashboard"] != "" || config.Annotations["grafana_folder"] != "Training" {
				t.Errorf("%s: %s is at %s, labels %v, annotations %v", chart, config.Name, config.Namespace, config.Labels, config.Annotations)
			}
		}
	}
}

// Panels have what Grafana needs to tell them apart, and nothing that it rejects.
func TestDashboardsAreValid(t *testing.T) {
	type panel struct {
		ID      int
		Type    string
		Title   string
		GridPos struct{ H, W, X, Y int }
		Targets []struct{ RefID string }
	}
	uids := map[string]bool{}
	for _, board := range boards.All() {
		raw, err := board.JSON()
		if err != nil {
			t.Fatal(err)
		}
		var parsed struct {
			UID    string
			Panels []panel
		}
		if err := json.Unmarshal(raw, &parsed); err != nil {
			t.Fatal(err)
		}
		if parsed.UID == "" || uids[parsed.UID] {
			t.Errorf("%s: UID %q is invalid or not unique", board.Title, parsed.UID)
		}
		uids[parsed.UID] = true
		taken := map[[2]int]string{}
		for i, p := range parsed.Panels {
			if p.ID != i+1 || (p.Type == "row") != (len(p.Targets) == 0) {
				t.Errorf("%s: panel %d is %+v", board.Title, i, p)
			}
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
						t.Fatalf("%s: %s overlaps %s, or is outside of the grid", board.Title, p.Title, other)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
		}
	}
}

func TestAlertsAreGenerated(t *testing.T) {
	for _, set := range alerts.All() {
		want, err := set.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.TrimSpace(string(want)), string(mustRead(t, filepath.Join(set.Chart, "files", "rules", "alerts.yaml")))); diff != "" {
			t.Errorf("%s (make generate), -want +got:\n%s", set.Chart, diff)
		}
		want, err = set.Default().YAML()
		if err != nil {
			t.Fatal(err)
		}
		var file struct{ Groups []any }
		if err := yaml.Unmarshal(want, &file); err != nil {
			t.Fatal(err)
		}
		for values, disabled := range map[string]string{
			"metrics: {prometheusRule: {enabled: true}}": "",
			installed[set.Chart].settings["everything"]:  "HoldfastControllerFallsBehind",
		} {
			checkRules(t, set.Chart, values, file.Groups, disabled)
		}
	}
}

// checkRules checks that the rendered rules are those of the file, except the disabled one, and the orchestrator's if it is not scraped.
func checkRules(t *testing.T, chart, values string, groups []any, disabled string) {
	t.Helper()
	all := mustParse(t, chart, values)
	rule := all.named(t, "PrometheusRule", "")
	without := []string{disabled}
	if chart != inPlaceChart && !scrapesOrchestrators(t, all) { // there the orchestrator is the manager, which is scraped with its chart
		without = append(without, "HoldfastOrchestratorHasNoLeader")
	}
	got, _, _ := unstructured.NestedSlice(rule.Object, "spec", "groups")
	wanted := groups[0].(map[string]any)["rules"].([]any)
	wanted = slices.DeleteFunc(slices.Clone(wanted), func(r any) bool { return slices.Contains(without, r.(map[string]any)["alert"].(string)) })
	if diff := cmp.Diff(wanted, got[0].(map[string]any)["rules"]); diff != "" {
		t.Errorf("%s, without %q (-want +got):\n%s", chart, disabled, diff)
	}
}

// The rules contain what a user sets in the values.
func TestAlertSettings(t *testing.T) {
	const threshold, duration = "0.125", "17m"
	for _, set := range alerts.All() {
		thresholds, durations := []string{}, []string{}
		for _, alert := range set.Alerts {
			durations = append(durations, alert.Name+": "+duration)
			if alert.Threshold != "" {
				thresholds = append(thresholds, alert.Name+": "+threshold)
			}
		}
		values := fmt.Sprintf(`metrics: {prometheusRule: {enabled: true, runbookBaseURL: "https://wiki.example/holdfast/", additionalRuleLabels: {team: ml, severity: page},
  thresholds: {%s}, for: {%s}}}
`, strings.Join(thresholds, ", "), strings.Join(durations, ", "))
		if set.Chart == jobSetChart { // so that the alert about orchestrators is rendered
			values += "orchestrator: {enabled: true, metrics: {enabled: true}}\nvalkey: {enabled: true}\n"
		}
		groups, _, _ := unstructured.NestedSlice(mustParse(t, set.Chart, values).named(t, "PrometheusRule", "").Object, "spec", "groups")
		rendered := groups[0].(map[string]any)["rules"].([]any)
		if len(rendered) != len(set.Alerts) {
			t.Fatalf("%s: %d alerts are rendered, want %d", set.Chart, len(rendered), len(set.Alerts))
		}
		for i, alert := range set.Alerts {
			if settable := strings.Contains(alert.Expr, "THRESHOLD"); settable != (alert.Threshold != "") {
				t.Errorf("%s: the threshold of %s is %q, the expression is %s", set.Chart, alert.Name, alert.Threshold, alert.Expr)
			}
			alert.Threshold = threshold
			alert = alert.Default()
			annotations := alert.Annotations()
			annotations["runbook_url"] = "https://wiki.example/holdfast/" + alert.Name + ".md"
			labels := alert.Labels()
			labels["team"], labels["severity"] = "ml", "page"
			want := map[string]any{"alert": alert.Name, "expr": alert.Expr, "for": duration, "labels": untyped(labels), "annotations": untyped(annotations)}
			if diff := cmp.Diff(want, rendered[i]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", set.Chart, diff)
			}
		}
	}
}

func untyped(texts map[string]string) map[string]any {
	out := map[string]any{}
	for key, text := range texts {
		out[key] = text
	}
	return out
}

// scrapesOrchestrators reports whether a Service has the port of their metrics.
func scrapesOrchestrators(t *testing.T, all objects) bool {
	t.Helper()
	for _, object := range all.find("Service") {
		for _, port := range as[corev1.Service](t, object).Spec.Ports {
			if port.Name == "orch-metrics" {
				return true
			}
		}
	}
	return false
}

// An alert about a missing series would never stop where nothing serves that series.
func TestOrchestratorAlertsNeedScraping(t *testing.T) {
	const rules, on = "metrics: {prometheusRule: {enabled: true}}", "orchestrator: {enabled: true, metrics: {enabled: true}}\nvalkey: {enabled: true}"
	for values, want := range map[string]bool{
		rules: false, rules + "\n" + on: true, rules + "\norchestrator: {enabled: true}\nvalkey: {enabled: true}": false,
		rules + "\norchestrator: {enabled: false, metrics: {enabled: true}}": false,
	} {
		rule := mustParse(t, jobSetChart, values).named(t, "PrometheusRule", "")
		text, err := yaml.Marshal(rule.Object)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(text), "alert: HoldfastOrchestratorHasNoLeader"); got != want {
			t.Errorf("%s: the alert is rendered: %t", values, got)
		}
	}
}

func TestMetricsCanBeDisabled(t *testing.T) {
	for chart := range installed {
		all := mustParse(t, chart, "")
		for _, kind := range []string{"PrometheusRule", "ServiceMonitor", "ConfigMap", "NetworkPolicy"} {
			if found := all.find(kind); len(found) > 0 {
				t.Errorf("%s: %s %s is rendered", chart, kind, found[0].GetName())
			}
		}
	}
}

// A policy that selects a pod opens all ports that it serves, except for probes, because the kubelet is always allowed.
func TestNetworkPoliciesOpenServedPorts(t *testing.T) {
	eachRendering(t, func(t *testing.T, chart, _, values string) {
		all := mustParse(t, chart, values+"\nnetworkPolicy: {enabled: true}\n")
		for _, object := range all.find("NetworkPolicy") {
			policy := as[networkingv1.NetworkPolicy](t, object)
			selector := labels.SelectorFromSet(policy.Spec.PodSelector.MatchLabels)
			selected := false
			for _, template := range all.podTemplates(t) {
				if !selector.Matches(labels.Set(template.Labels)) {
					continue
				}
				selected = true
				for _, port := range closed(template.Spec, policy.Spec.Ingress) {
					t.Errorf("%s does not open port %s", policy.Name, port)
				}
			}
			if !selected {
				t.Errorf("%s selects no pod", policy.Name)
			}
		}
	})
}

// closed returns the ports, except for probes, that no rule opens.
func closed(pod corev1.PodSpec, rules []networkingv1.NetworkPolicyIngressRule) []string {
	open := map[int32]bool{}
	for _, rule := range rules {
		for _, port := range rule.Ports {
			open[port.Port.IntVal] = true
		}
	}
	var found []string
	for _, c := range pod.Containers {
		for _, port := range c.Ports {
			if !strings.Contains(port.Name, "health") && !open[port.ContainerPort] {
				found = append(found, port.Name)
			}
		}
	}
	return found
}

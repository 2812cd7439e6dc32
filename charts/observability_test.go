package charts

import (
	"encoding/json"
	"fmt"
	"os"
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
)

// dashboard holds the fields of Grafana's JSON model that the tests read.
type dashboard struct {
	UID    string
	Title  string
	Panels []struct {
		ID      int
		Type    string
		Title   string
		GridPos struct{ H, W, X, Y int }
		Targets []struct{ RefID, Expr string }
	}
}

// dashboardFolder is the library chart's dashboard directory.
var dashboardFolder = filepath.Join("library", "files", "dashboards")

// dashboards returns the dashboards by file name.
func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	files, err := os.ReadDir(dashboardFolder)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]dashboard{}
	for _, file := range files {
		var parsed dashboard
		if err := json.Unmarshal(mustRead(t, filepath.Join(dashboardFolder, file.Name())), &parsed); err != nil {
			t.Fatal(err)
		}
		all[file.Name()] = parsed
	}
	return all
}

func TestChartsContainDashboards(t *testing.T) {
	for chart, entry := range installed {
		found := mustParse(t, chart, entry.settings["everything"]).find("ConfigMap")
		for file := range dashboards(t) {
			i := slices.IndexFunc(found, func(o *unstructured.Unstructured) bool { return as[corev1.ConfigMap](t, o).Data[file] != "" })
			if i < 0 {
				t.Fatalf("%s does not contain %s", chart, file)
			}
			config := as[corev1.ConfigMap](t, found[i])
			if want := string(mustRead(t, filepath.Join(dashboardFolder, file))); strings.TrimSpace(config.Data[file]) != want {
				t.Errorf("%s: %s differs from the file of the library", chart, file)
			}
			if config.Namespace != "grafana" || config.Labels["board"] != "yes" || config.Labels["grafana_dashboard"] != "" || config.Annotations["grafana_folder"] != "Training" {
				t.Errorf("%s: %s is at %s, labels %v, annotations %v", chart, config.Name, config.Namespace, config.Labels, config.Annotations)
			}
		}
	}
}

// Dashboards and panels have what Grafana needs to distinguish them, and do not contain anything that Grafana rejects.
func TestDashboardsAreValid(t *testing.T) {
	uids := map[string]bool{}
	for _, board := range dashboards(t) {
		if board.UID == "" || uids[board.UID] {
			t.Errorf("%s: UID %q is invalid or not unique", board.Title, board.UID)
		}
		uids[board.UID] = true
		taken := map[[2]int]string{}
		for i, p := range board.Panels {
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

// Each setting renders all alerts, except a disabled alert and, if the orchestrator is not scraped, the orchestrator's
// alerts.
func TestAllAlertsAreRendered(t *testing.T) {
	for chart, entry := range installed {
		for values, disabled := range map[string]string{
			"metrics: {prometheusRule: {enabled: true}}": "", entry.settings["everything"]: "HoldfastControllerFallsBehind",
		} {
			all := mustParse(t, chart, values)
			without := []string{disabled}
			if chart != inPlaceChart && !scrapesOrchestrators(t, all) { // in the excluded chart, the orchestrator is the manager, which is always scraped
				without = append(without, "HoldfastOrchestratorHasNoLeader")
			}
			want := slices.DeleteFunc(alertsOf(t, chart), func(a alert) bool { return slices.Contains(without, a.Name) })
			if diff := cmp.Diff(want, alertsIn(t, all.named(t, "PrometheusRule", ""))); diff != "" {
				t.Errorf("%s, without %q (-want +got):\n%s", chart, disabled, diff)
			}
		}
	}
}

// thresholds returns the names of the alerts with a threshold.
func thresholds(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("*", "files", "rules", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("files %v, error %v", files, err)
	}
	for _, file := range files {
		var parsed struct {
			Rules []struct{ Alert, Expr, Threshold string }
		}
		if err := yaml.Unmarshal(mustRead(t, file), &parsed); err != nil {
			t.Fatal(err)
		}
		for _, rule := range parsed.Rules {
			if settable := strings.Contains(rule.Expr, "THRESHOLD"); settable != (rule.Threshold != "") {
				t.Errorf("%s: the threshold of %s is %q, the expression is %s", file, rule.Alert, rule.Threshold, rule.Expr)
			}
			if rule.Threshold != "" {
				names = append(names, rule.Alert)
			}
		}
	}
	return names
}

// The rules contain the settings from the values.
func TestAlertSettings(t *testing.T) {
	settable := thresholds(t)
	for chart := range installed {
		defaults := alertsOf(t, chart)
		low, high := alertsWith(t, chart, defaults, settable, "0.125"), alertsWith(t, chart, defaults, settable, "0.375")
		for i, alert := range low {
			if alert.For != "17m" || alert.Labels["team"] != "ml" || alert.Labels["severity"] != "page" ||
				alert.Annotations["runbook_url"] != "https://wiki.example/holdfast/"+alert.Name+".md" {
				t.Errorf("%s: settings are missing in %+v", chart, alert)
			}
			if has := strings.Contains(alert.Expr, "0.125"); has != slices.Contains(settable, alert.Name) {
				t.Errorf("%s: the threshold is in %s: %t", alert.Name, alert.Expr, has)
			}
			for text, other := range map[string]string{
				alert.Expr: high[i].Expr, alert.Annotations["summary"]: high[i].Annotations["summary"], alert.Annotations["description"]: high[i].Annotations["description"],
			} {
				if want := strings.ReplaceAll(text, "0.125", "0.375"); want != other || strings.Contains(text, "THRESHOLD") {
					t.Errorf("%s: with another threshold %q becomes %q", alert.Name, text, other)
				}
			}
		}
	}
}

// alertsWith renders a chart's alerts with the given threshold for all alerts that have one, and with other non-default
// settings.
func alertsWith(t *testing.T, chart string, defaults []alert, settable []string, threshold string) []alert {
	t.Helper()
	set, durations := []string{}, []string{}
	for _, alert := range defaults {
		durations = append(durations, alert.Name+": 17m")
		if slices.Contains(settable, alert.Name) {
			set = append(set, alert.Name+": "+threshold)
		}
	}
	values := fmt.Sprintf(`metrics: {prometheusRule: {enabled: true, runbookBaseURL: "https://wiki.example/holdfast/", additionalRuleLabels: {team: ml, severity: page},
  thresholds: {%s}, for: {%s}}}
`, strings.Join(set, ", "), strings.Join(durations, ", "))
	if chart == jobSetChart { // renders the alert about orchestrators
		values += "orchestrator: {enabled: true, metrics: {enabled: true}}\nvalkey: {enabled: true}\n"
	}
	return alertsIn(t, mustParse(t, chart, values).named(t, "PrometheusRule", ""))
}

// scrapesOrchestrators reports whether a Service exposes the orchestrators' metrics port.
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

// An alert about a missing series would fire forever if nothing served that series.
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

// A NetworkPolicy that selects a pod allows access to all ports that the pod serves. Ports that serve only probes are
// excluded, because the kubelet always has access.
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

// closed returns the ports to which no rule allows access, except probe ports.
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

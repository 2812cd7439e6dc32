package charts

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/holdfast-project/holdfast/shared/series"
)

// foreign lists the series of other programs that dashboards and alerts may use. They come from controller-runtime, which every manager serves,
// from the API server, and from Kueue with metrics.enableClusterQueueResources. Labels are listed where the API server or a test shows them.
var foreign = map[string][]string{
	"controller_runtime_reconcile_total": nil, "controller_runtime_reconcile_errors_total": nil, "controller_runtime_reconcile_time_seconds_bucket": nil,
	"controller_runtime_webhook_requests_total": nil, "controller_runtime_webhook_latency_seconds_bucket": nil, "controller_runtime_webhook_panics_total": {},
	"workqueue_depth": nil, "workqueue_queue_duration_seconds_bucket": nil, "rest_client_requests_total": nil, "leader_election_master_status": nil,
	"process_cpu_seconds_total": nil, "process_resident_memory_bytes": nil,

	rejections: {"name", "type", "operation", "error_type", "rejection_code"}, skips: {"name", "type"},

	"kueue_pending_workloads": nil, "kueue_admitted_active_workloads": nil, "kueue_evicted_workloads_total": nil, "kueue_admission_wait_time_seconds_bucket": nil,
	"kueue_cluster_queue_resource_reservation": nil, "kueue_cluster_queue_nominal_quota": nil,
}

// The API server also counts requests that did not reach a webhook. A webhook that was skipped because of failurePolicy Ignore has not rejected
// the request.
const (
	rejections = "apiserver_admission_webhook_rejection_count"
	skips      = "apiserver_admission_webhook_fail_open_count"
)

// served returns the names of all series that an expression may use, and their labels if known.
func served() map[string][]string {
	ofTargets := []string{"cluster", "namespace", "job", "instance", "le"}
	all := map[string][]string{}
	for name, labels := range foreign {
		if all[name] = nil; labels != nil {
			all[name] = slices.Concat(ofTargets, labels)
		}
	}
	for _, metric := range series.All() {
		labels := slices.Concat(ofTargets, metric.Labels)
		for _, name := range samples(metric) {
			all[name] = labels
		}
	}
	return all
}

// samples returns the names under which a metric is stored. A histogram has three.
func samples(m series.Metric) []string {
	if m.Type == series.Histogram {
		return []string{m.Name + "_bucket", m.Name + "_count", m.Name + "_sum"}
	}
	return []string{m.Name}
}

// expressions returns the expressions of all dashboards and alerts by location. Grafana variables are replaced by all namespaces and a fixed
// duration.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	variables := strings.NewReplacer("$namespace", ".*", "$__rate_interval", "5m", "$__range", "5m")
	for file, board := range dashboards(t) {
		for _, panel := range board.Panels {
			for _, target := range panel.Targets {
				all[fmt.Sprint(file, "/", panel.ID, "/", target.RefID)] = variables.Replace(target.Expr)
			}
		}
	}
	for chart := range installed {
		for _, alert := range alertsOf(t, chart) {
			all[chart+"/"+alert.Name] = alert.Expr
		}
	}
	return all
}

func TestExpressionsUseServedMetrics(t *testing.T) {
	known := served()
	for at, text := range expressions(t) {
		expr, err := parser.ParseExpr(text)
		if err != nil {
			t.Errorf("%s: %v\n%s", at, err, text)
			continue
		}
		for _, problem := range strangers(expr, known) {
			t.Errorf("%s: %s\n%s", at, problem, text)
		}
	}
}

// strangers returns the series in an expression that no program serves, and the labels that our series do not have.
func strangers(expr parser.Expr, known map[string][]string) []string {
	var found []string
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		labels, there := known[selector.Name]
		if !there {
			found = append(found, selector.Name+" is not served by any program")
		}
		for _, matcher := range selector.LabelMatchers {
			if labels != nil && matcher.Name != "__name__" && !slices.Contains(labels, matcher.Name) {
				found = append(found, selector.Name+" has no label "+matcher.Name)
			}
		}
		return nil
	})
	return found
}

func TestUnknownMetricsAreDetected(t *testing.T) {
	for text, want := range map[string]string{
		`sum(rate(holdfast_restart_total[5m]))`:                 "holdfast_restart_total is not served by any program",
		`holdfast_restart_duration_seconds`:                     "holdfast_restart_duration_seconds is not served by any program",
		`rate(holdfast_restarts_total{knd="in-place"}[5m]) > 0`: "holdfast_restarts_total has no label knd",
		rejections + `{webhook="a"}`:                            rejections + " has no label webhook",
	} {
		expr, err := parser.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strangers(expr, served()), "\n"); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// The labels that expressions use to group our metrics exist. With a typo in a label, all series would be merged into one.
func TestGroupingLabelsExist(t *testing.T) {
	known := served()
	for at, text := range expressions(t) {
		expr, err := parser.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
			sum, ok := node.(*parser.AggregateExpr)
			if !ok {
				return nil
			}
			for _, selector := range parser.ExtractSelectors(sum) {
				name := selector[len(selector)-1].Value
				for _, label := range sum.Grouping {
					if labels := known[name]; labels != nil && !slices.Contains(labels, label) {
						t.Errorf("%s: %s has no label %s", at, name, label)
					}
				}
			}
			return nil
		})
	}
}

// Alerts from two installations can be distinguished.
func TestAlertsKeepClusterAndNamespace(t *testing.T) {
	for chart := range installed {
		for _, alert := range alertsOf(t, chart) {
			expr, err := parser.ParseExpr(alert.Expr)
			if err != nil {
				t.Fatal(err)
			}
			parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
				sum, ok := node.(*parser.AggregateExpr)
				if ok && (sum.Without || !slices.Contains(sum.Grouping, "cluster") || !slices.Contains(sum.Grouping, "namespace")) {
					t.Errorf("%s, %s: %s drops cluster or namespace", chart, alert.Name, sum)
				}
				return nil
			})
		}
	}
}

// Every metric that users might look for is on a dashboard.
func TestEveryMetricIsOnADashboard(t *testing.T) {
	var all strings.Builder
	for _, text := range expressions(t) {
		all.WriteString(text + "\n")
	}
	for _, metric := range series.All() {
		if metric.Name != series.RendezvousRefused.Name && !strings.Contains(all.String(), metric.Name) {
			t.Errorf("%s is on no dashboard", metric.Name)
		}
	}
}

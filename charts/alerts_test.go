package charts

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// alert is an alerting rule as a chart renders it.
type alert struct {
	Name        string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// rulesOf returns the PrometheusRule that a chart renders with all alerts.
func rulesOf(t *testing.T, chart string) *unstructured.Unstructured {
	t.Helper()
	values := "metrics: {prometheusRule: {enabled: true}}\n"
	if chart == jobSetChart { // renders the alert about orchestrators
		values += "orchestrator: {enabled: true, metrics: {enabled: true}}\nvalkey: {enabled: true}\n"
	}
	return mustParse(t, chart, values).named(t, "PrometheusRule", "")
}

// alertsIn returns the alerts of a PrometheusRule.
func alertsIn(t *testing.T, rule *unstructured.Unstructured) []alert {
	t.Helper()
	var parsed struct {
		Spec struct {
			Groups []struct {
				Rules []alert `json:"rules"`
			} `json:"groups"`
		} `json:"spec"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(rule.Object, &parsed); err != nil {
		t.Fatal(err)
	}
	return parsed.Spec.Groups[0].Rules
}

// alertsOf returns all alerts that a chart renders with its defaults.
func alertsOf(t *testing.T, chart string) []alert {
	t.Helper()
	return alertsIn(t, rulesOf(t, chart))
}

// load is the input of an alert: series in promtool's notation, with one sample per minute.
type load map[string]string

// trial holds a load with which an alert fires at a given minute, and a load with which it does not fire.
type trial struct {
	at           string
	fires, quiet load
	also         []load            // further loads with which it fires
	values       []string          // expected in the description, for fires and for each load of also
	labels       map[string]string // labels of the alert in addition to the rule's labels
}

// controller holds the labels that distinguish the alerts of one controller.
type controller struct{ program, name, lease, webhook string }

var controllers = map[string]controller{
	"jobset-controller":     {"jobset", "jobset", "6d4f6a47.jobset.x-k8s.io", "vjobset.kb.io"},
	"holdfast-inplace":      {"orchestrator", "orchestrator", "holdfast-inplace", "mjob.holdfast.dev"},
	"appwrapper-controller": {"appwrapper", "appwrapper", "f134c674.codeflare.dev", "mappwrapper.kb.io"},
	"elastic-operator":      {"elastic-operator", "elastic-job-controller", "elastic-operator.holdfast.dev", ""},
	"rescheduler":           {"rescheduler", "rescheduler", "rescheduler.holdfast.dev", "pods.rescheduler.holdfast.dev"},
}

// trials returns the trials of the alerts that every controller has. They include failures of other controllers, which
// must not trigger the alerts.
func (c controller) trials() map[string]trial {
	of := func(metric, label, value string) string { return metric + "{" + label + `="` + value + `"}` }
	errors, passes := "controller_runtime_reconcile_errors_total", "controller_runtime_reconcile_total"
	rejected := func(webhook, why, code string) string {
		return `apiserver_admission_webhook_rejection_count{name="` + webhook + `",error_type="` + why + `",rejection_code="` + code + `"}`
	}
	target := func(program string) string { return `job="` + program + `",instance="a:8443"` }
	panics := func(program string) string { return "controller_runtime_webhook_panics_total{" + target(program) + "}" }
	info := func(program string) string {
		return `holdfast_build_info{program="` + program + `",` + target(program) + "}"
	}
	waits := func(le string) string {
		return `workqueue_queue_duration_seconds_bucket{name="` + c.name + `",le="` + le + `"}`
	}
	return map[string]trial{
		"HoldfastControllerDown": {
			values: []string{"1"},
			at:     "6m",
			fires:  load{of("holdfast_build_info", "program", "another"): "1x20"},
			quiet:  load{of("holdfast_build_info", "program", c.program): "1x20"},
			labels: map[string]string{"program": c.program},
		},
		"HoldfastControllerHasNoLeader": {
			values: []string{"0"},
			at:     "4m",
			fires:  load{`leader_election_master_status{name="` + c.lease + `",pod="a"}`: "0x20", `leader_election_master_status{name="` + c.lease + `",pod="b"}`: "0x20"},
			quiet:  load{`leader_election_master_status{name="` + c.lease + `",pod="a"}`: "0x20", `leader_election_master_status{name="` + c.lease + `",pod="b"}`: "1x20"},
		},
		"HoldfastControllerErrors": {
			values: []string{"0.2"},
			at:     "30m",
			fires:  load{of(errors, "controller", c.name): "0+2x40", of(passes, "controller", c.name): "0+10x40"},
			quiet:  load{of(errors, "controller", c.name): "0+1x40", of(passes, "controller", c.name): "0+20x40", of(errors, "controller", "x"): "0+9x40"},
		},
		"HoldfastControllerFallsBehind": {
			values: []string{"90"},
			at:     "25m",
			fires:  load{waits("10"): "0+1x40", waits("100"): "0+10x40", waits("+Inf"): "0+10x40"},
			quiet:  load{waits("10"): "0+10x40", waits("100"): "0+10x40", waits("+Inf"): "0+10x40"},
		},
		"HoldfastWebhookCertExpiry": {
			values: []string{"603900"},
			at:     "15m",
			fires:  load{of("holdfast_webhook_certificate_not_after_seconds", "program", c.program): "604800x20"}, // the trial begins at second 0
			quiet: load{
				of("holdfast_webhook_certificate_not_after_seconds", "program", c.program): "604800x5 7776000x20", // the certificate is renewed
				of("holdfast_webhook_certificate_not_after_seconds", "program", "another"): "604800x20",
			},
		},
		"HoldfastWebhookErrors": {
			values: []string{"0.0166667", "0.0166667", "0.0166667", "0.0166667", "0.0166667"},
			at:     "15m",
			fires:  load{info(c.program): "1x40", panics(c.program): "0+1x40"},
			also: []load{
				{rejected(c.webhook, "calling_webhook_error", "503"): "0+1x40"},  // the webhook was unreachable
				{rejected(c.webhook, "apiserver_internal_error", "0"): "0+1x40"}, // the webhook's response was invalid
				{rejected(c.webhook, "no_error", "500"): "0+1x40"},               // the webhook responded with an internal error
				{of("apiserver_admission_webhook_fail_open_count", "name", c.webhook): "0+1x40"},
			},
			quiet: load{
				info(c.program): "1x40", panics(c.program): "7x40", info("another"): "1x40", panics("another"): "0+1x40",
				rejected(c.webhook, "no_error", "403"): "0+50x40", rejected("another.kb.io", "calling_webhook_error", "503"): "0+1x40",
				of("apiserver_admission_webhook_fail_open_count", "name", "another.kb.io"): "0+1x40",
			},
		},
	}
}

// trials holds the trials of all other alerts.
var trials = map[string]trial{
	"HoldfastGoodputLow": {
		values: []string{"0.8"},
		at:     "90m",
		fires:  load{"holdfast_running_worker_seconds_total": "0+800x120", `holdfast_lost_worker_seconds_total{cause="exit"}`: "0+200x120"},
		quiet:  load{"holdfast_running_worker_seconds_total": "0+950x120", `holdfast_lost_worker_seconds_total{cause="exit"}`: "0+50x120"},
	},
	"HoldfastRestartStorm": {
		values: []string{"60"},
		at:     "31m",
		fires: load{
			`holdfast_restarts_total{kind="in-place",cluster="a",namespace="b"}`:   "0+1x40",
			`holdfast_restarts_total{kind="recreation",cluster="a",namespace="b"}`: "0+1x40",
		},
		quiet: load{ // neither the whole cluster nor any namespace has too many
			`holdfast_restarts_total{kind="in-place",cluster="a",namespace="b"}`: "0+0.5x40",
			`holdfast_restarts_total{kind="in-place",cluster="a",namespace="c"}`: "0+0.5x40",
			`holdfast_restarts_total{kind="in-place",cluster="b",namespace="b"}`: "0+0.5x40",
		},
		labels: map[string]string{"cluster": "a", "namespace": "b"},
	},
	"HoldfastRestartBudgetNearlySpent": {
		values: []string{"0.8"},
		at:     "1m",
		fires:  load{`jobset_restart_budget_used_ratio{pod="a"}`: "0.8x10", `jobset_restart_budget_used_ratio{pod="b"}`: "0.8x10"},
		quiet:  load{`jobset_restart_budget_used_ratio{pod="a"}`: "0.75x10"},
	},
	"HoldfastRestartsSlow": {
		values: []string{"401"},
		at:     "70m",
		fires: load{
			`holdfast_restart_duration_seconds_sum{kind="recreation",phase="detect"}`: "0+1x90", `holdfast_restart_duration_seconds_count{kind="recreation",phase="detect"}`: "0+1x90",
			`holdfast_restart_duration_seconds_sum{kind="recreation",phase="start"}`: "0+400x90", `holdfast_restart_duration_seconds_count{kind="recreation",phase="start"}`: "0+1x90",
		},
		quiet: load{
			`holdfast_restart_duration_seconds_sum{kind="recreation",phase="detect"}`: "0+1x90", `holdfast_restart_duration_seconds_count{kind="recreation",phase="detect"}`: "0+1x90",
			`holdfast_restart_duration_seconds_sum{kind="recreation",phase="start"}`: "0+200x90", `holdfast_restart_duration_seconds_count{kind="recreation",phase="start"}`: "0+1x90",
		},
		labels: map[string]string{"kind": "recreation"},
	},
	"HoldfastRestartsTimeOut": {
		values: []string{"6"},
		at:     "61m",
		fires:  load{"holdfast_inplace_timeouts_total": "0+0.1x90"},
		quiet:  load{"holdfast_inplace_timeouts_total": "0+0.04x90"},
	},
	"HoldfastWorkersOutOfSync": {
		values: []string{"3"},
		at:     "25m",
		fires:  load{"holdfast_workers_out_of_sync": "3x40"},
		quiet:  load{"holdfast_workers_out_of_sync": "3x10 0 3x20"},
	},
	"HoldfastOrchestratorHasNoLeader": {
		values: []string{"0", "1", "1", "0"},
		at:     "5m",
		fires:  load{`holdfast_orchestrator_leader{pod="a"}`: "0x20", `holdfast_orchestrator_leader{pod="b"}`: "0x20"},
		also: []load{
			{`holdfast_build_info{program="jobset"}`: "1x20"},                // no orchestrator is running
			{`holdfast_orchestrator_leader{pod="a"}`: "1 1 stale"},           // the last orchestrator is gone
			{`holdfast_orchestrator_leader{pod="a"}`: "1 stale 0 stale 0x2"}, // an orchestrator restarts repeatedly
		},
		quiet: load{`holdfast_orchestrator_leader{pod="a"}`: "0x20", `holdfast_orchestrator_leader{pod="b"}`: "1x20"},
	},
	"HoldfastStoreUnreachable": {
		values: []string{"0.5"},
		at:     "15m",
		fires:  load{"holdfast_store_errors_total": "0+30x40"},
		quiet:  load{"holdfast_store_errors_total": "0+3x40"},
	},
	"HoldfastOrchestratorsFenced": {
		values: []string{"15"},
		at:     "16m",
		fires:  load{"holdfast_fencing_rejections_total": "0+1x40"},
		quiet:  load{"holdfast_fencing_rejections_total": "0 1x40"},
	},
	"HoldfastQuotaHeldIdle": {
		values: []string{"8"},
		at:     "35m",
		fires:  load{`appwrapper_quota_held_pods{phase="Resetting"}`: "8x50", `appwrapper_quota_held_pods{phase="Running"}`: "0x50"},
		quiet:  load{`appwrapper_quota_held_pods{phase="Resetting"}`: "8x20 0x5 8x20"},
		labels: map[string]string{"phase": "Resetting"},
	},
	"HoldfastResetStorm": {
		values: []string{"18"},
		at:     "61m",
		fires:  load{`appwrapper_resets_total{reason="a"}`: "0+0.2x90", `appwrapper_resets_total{reason="b"}`: "0+0.1x90"},
		quiet:  load{`appwrapper_resets_total{reason="a"}`: "0+0.1x90"},
	},
	"HoldfastElasticWorkersAbandoned": {
		values: []string{"1"},
		at:     "30m",
		fires:  load{"elasticjob_workers_abandoned_total": "0x10 1x40"},
		quiet:  load{"elasticjob_workers_abandoned_total": "4x50"},
	},
	"HoldfastElasticJobsFail": {
		values: []string{"6"},
		at:     "61m",
		fires:  load{`elasticjob_finished_total{outcome="Failed"}`: "0+0.1x90"},
		quiet:  load{`elasticjob_finished_total{outcome="Failed"}`: "0+0.04x90", `elasticjob_finished_total{outcome="Succeeded"}`: "0+1x90"},
	},
	"HoldfastRescheduleBreakerOpen": {
		values: []string{"1"},
		at:     "1m",
		fires:  load{"rescheduler_breaker_open": "1x10"},
		quiet:  load{"rescheduler_breaker_open": "0x10"},
	},
	"HoldfastMovesBlocked": {
		values: []string{"30"},
		at:     "31m",
		fires:  load{`rescheduler_moves_total{outcome="blocked"}`: "0+1x40", `rescheduler_moves_total{outcome="moved"}`: "5x40"},
		quiet:  load{`rescheduler_moves_total{outcome="blocked"}`: "0+1x40", `rescheduler_moves_total{outcome="moved"}`: "0+1x40"},
	},
	"HoldfastReplacementsSlow": {
		values: []string{"111"},
		at:     "45m",
		fires: load{
			`rescheduler_replacement_seconds_bucket{le="30"}`: "0x60", `rescheduler_replacement_seconds_bucket{le="120"}`: "0+1x60", `rescheduler_replacement_seconds_bucket{le="+Inf"}`: "0+1x60",
		},
		quiet: load{
			`rescheduler_replacement_seconds_bucket{le="30"}`: "0+1x60", `rescheduler_replacement_seconds_bucket{le="120"}`: "0+1x60", `rescheduler_replacement_seconds_bucket{le="+Inf"}`: "0+1x60",
		},
	},
	"HoldfastExclusionsUnreadable": {
		values: []string{"1"},
		at:     "20m",
		fires:  load{`holdfast_pod_rescheduling_exclusions_ignored_total{reason="Unreadable"}`: "0x5 1x30"},
		quiet:  load{`holdfast_pod_rescheduling_exclusions_ignored_total{reason="NoNodeLeft"}`: "0+1x40"},
	},
}

// The types of promtool's rule tests.
type (
	ruleTests struct {
		RuleFiles []string   `json:"rule_files"`
		Tests     []ruleTest `json:"tests"`
	}
	ruleTest struct {
		Name     string        `json:"name"`
		Interval string        `json:"interval"`
		Input    []inputSeries `json:"input_series"`
		Alerts   []alertTest   `json:"alert_rule_test"`
	}
	inputSeries struct {
		Series string `json:"series"`
		Values string `json:"values"`
	}
	alertTest struct {
		EvalTime string          `json:"eval_time"`
		Name     string          `json:"alertname"`
		Expected []expectedAlert `json:"exp_alerts"`
	}
	expectedAlert struct {
		Labels      map[string]string `json:"exp_labels"`
		Annotations map[string]string `json:"exp_annotations"`
	}
)

// promtool evaluates every alert, once with a load with which it must fire and once with a load with which it must not
// fire.
func TestAlertsFire(t *testing.T) {
	for chart := range installed {
		t.Run(chart, func(t *testing.T) {
			rule := rulesOf(t, chart)
			content, err := yaml.Marshal(rule.Object["spec"])
			if err != nil {
				t.Fatal(err)
			}
			rules := filepath.Join(t.TempDir(), "rules.yaml")
			if err := os.WriteFile(rules, content, 0o644); err != nil {
				t.Fatal(err)
			}
			tests := ruleTests{RuleFiles: []string{rules}}
			for _, alert := range alertsIn(t, rule) {
				tests.Tests = append(tests.Tests, ruleTestsOf(t, chart, alert)...)
			}
			promtool(t, tests)
		})
	}
}

func ruleTestsOf(t *testing.T, chart string, alert alert) []ruleTest {
	t.Helper()
	trial, there := trials[alert.Name]
	if alert.Labels["program"] != "" {
		trial, there = controllers[chart].trials()[alert.Name]
	}
	if !there || len(trial.fires) == 0 || len(trial.quiet) == 0 {
		t.Fatalf("%s has no test", alert.Name)
	}
	labels := maps.Clone(alert.Labels)
	maps.Copy(labels, trial.labels)
	tests := []ruleTest{trial.quiet.test(alert.Name+" is quiet", trial.at, alert.Name)}
	for i, fires := range append([]load{trial.fires}, trial.also...) {
		value := ""
		if i < len(trial.values) {
			value = trial.values[i]
		}
		tests = append(tests, fires.test(fmt.Sprint(alert.Name, " fires, ", i), trial.at, alert.Name, expectedAlert{labels, filledIn(t, alert, value, trial.labels)}))
	}
	return tests
}

// filledIn returns an alert's annotations as Prometheus sends them, given the labels that the rule does not set.
func filledIn(t *testing.T, alert alert, value string, labels map[string]string) map[string]string {
	t.Helper()
	annotations := maps.Clone(alert.Annotations)
	summary, err := template.New("summary").Funcs(template.FuncMap{
		"humanizePercentage": func(v float64) string { return fmt.Sprintf("%.4g%%", v*100) },
		"humanizeDuration":   humanizeDuration,
	}).Parse(annotations["summary"])
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := summary.Execute(&out, nil); err != nil {
		t.Fatal(err)
	}
	annotations["summary"] = out.String()
	text, _, _ := strings.Cut(annotations["description"], " Value: ")
	text += " Value: " + value + "."
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		text += " " + name + "=" + labels[name]
	}
	annotations["description"] = text
	return annotations
}

// humanizeDuration formats a whole number of seconds like the Prometheus function of the same name.
func humanizeDuration(seconds int) string {
	days, hours, minutes := seconds/86400, seconds/3600%24, seconds/60%60
	switch {
	case days > 0:
		return fmt.Sprintf("%dd %dh %dm %ds", days, hours, minutes, seconds%60)
	case hours > 0:
		return fmt.Sprintf("%dh %dm %ds", hours, minutes, seconds%60)
	case minutes > 0:
		return fmt.Sprintf("%dm %ds", minutes, seconds%60)
	}
	return fmt.Sprintf("%ds", seconds)
}

func (l load) test(name, at, alert string, expected ...expectedAlert) ruleTest {
	out := ruleTest{Name: name, Interval: "1m", Alerts: []alertTest{{at, alert, expected}}}
	for _, series := range slices.Sorted(maps.Keys(l)) {
		out.Input = append(out.Input, inputSeries{series, l[series]})
	}
	return out
}

func promtool(t *testing.T, tests ruleTests) {
	t.Helper()
	content, err := yaml.Marshal(tests)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "tests.yaml")
	if err := os.WriteFile(file, content, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "promtool", "test", "rules", file).CombinedOutput()
	if err != nil {
		t.Errorf("promtool (hack/install-debian.sh prometheus installs it): %v\n%s", err, out)
	}
}

func TestEveryTrialHasAnAlert(t *testing.T) {
	names := map[string]bool{}
	for chart := range installed {
		for _, alert := range alertsOf(t, chart) {
			names[alert.Name] = true
		}
	}
	for name := range trials {
		if !names[name] {
			t.Errorf("no alert is named %s", name)
		}
	}
}

// toEdit matches a command, in a block or in a sentence, that contains a placeholder in capitals.
var toEdit = regexp.MustCompile("(?m)(?:`|^ +)(?:kubectl|helm) [^`\\n]*\\b[A-Z]{3,}\\b")

// Each alert has a runbook page with the information that an on-call engineer needs, and with commands that can be
// copied. There are no other runbook pages.
func TestEveryAlertHasARunbook(t *testing.T) {
	folder := filepath.Join("..", "docs", "runbooks")
	pages := map[string]bool{}
	for chart := range installed {
		for _, alert := range alertsOf(t, chart) {
			pages[alert.Name+".md"] = true
			text := string(mustRead(t, filepath.Join(folder, alert.Name+".md")))
			for _, part := range []string{"# " + alert.Name, "## What it means", "## Diagnosis", "## Mitigation"} {
				if !strings.Contains(text, part+"\n") {
					t.Errorf("%s: %q is missing", alert.Name, part)
				}
			}
			if paragraphs := strings.Split(text, "\n\n"); !strings.HasPrefix(paragraphs[len(paragraphs)-1], "The problem is resolved when ") {
				t.Errorf("%s: the page does not end with \"The problem is resolved when\"", alert.Name)
			}
			for _, match := range toEdit.FindAllString(text, -1) {
				t.Errorf("%s: a reader must edit %q", alert.Name, match)
			}
		}
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !pages[file.Name()] && file.Name() != "README.md" {
			t.Errorf("%s belongs to no alert", file.Name())
		}
	}
}

// There are several reasons why an ElasticJob fails or abandons a worker. A reader who knows only one of them may look
// in the wrong place.
func TestAlertsNameAllCauses(t *testing.T) {
	definition := string(mustRead(t, filepath.Join(elasticChart, "files", "crds", "elastic.pytorch.org_elasticjobs.yaml")))
	for name, causes := range map[string][]string{
		"HoldfastElasticWorkersAbandoned": {"backoffLimit", "disruptionLimit", "permanentExitCodes", "restartPolicy"},
		"HoldfastElasticJobsFail":         {"minReplicas", "successPolicy", "activeDeadlineSeconds"},
	} {
		page := string(mustRead(t, filepath.Join("..", "docs", "runbooks", name+".md")))
		for _, alert := range alertsOf(t, elasticChart) {
			for _, cause := range causes {
				if !strings.Contains(definition, " "+cause+":") {
					t.Errorf("ElasticJobs have no field %s", cause)
				}
				if alert.Name == name && !(strings.Contains(alert.Annotations["description"], cause) && strings.Contains(page, cause)) {
					t.Errorf("%s, or its page, does not name %s", name, cause)
				}
			}
		}
	}
}

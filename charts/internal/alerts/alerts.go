// Package alerts builds the Prometheus rules of each program. Each alert has a runbook, docs/runbooks/NAME.md, which says what it means,
// what to look at, and what to do.
package alerts

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// Runbooks is the URL of the runbooks.
const Runbooks = "https://github.com/holdfast-project/holdfast/blob/main/docs/runbooks/"

// Severity is how soon to act.
type Severity string

// The severities: act now, act today, good to know.
const (
	Critical Severity = "critical"
	Warning  Severity = "warning"
	Info     Severity = "info"
)

// placeholder stands for the threshold in the expression, the summary and the description of an alert. Users of the charts set thresholds.
const placeholder = "THRESHOLD"

// Alert fires when its expression has returned a result for a time.
type Alert struct {
	Name        string
	Program     string // for alerts that several programs share
	Severity    Severity
	Expr        string
	Threshold   string // the default, a number; empty means that the alert has none
	For         string // in Prometheus notation; empty means at once
	Summary     string // one line, without a full stop
	Description string // what it means, and the first thing to do
}

// Set holds the rules of one chart.
type Set struct {
	Chart  string // folder of the chart
	Alerts []Alert
}

// All returns the sets, one for each chart. Every aggregation keeps the labels cluster and namespace, which identify an installation.
func All() []Set {
	return []Set{jobSet(), inPlace(), appWrapper(), elastic(), rescheduler()}
}

type (
	file struct {
		Groups []group `json:"groups"`
	}
	group struct {
		Name  string `json:"name"`
		Rules []rule `json:"rules"`
	}
	rule struct {
		Alert       string            `json:"alert"`
		Expr        string            `json:"expr"`
		Threshold   string            `json:"threshold,omitempty"` // not in Prometheus' format
		For         string            `json:"for,omitempty"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	}
)

// Default returns the set with the default thresholds, in Prometheus' format.
func (s Set) Default() Set {
	out := Set{Chart: s.Chart}
	for _, a := range s.Alerts {
		out.Alerts = append(out.Alerts, a.Default())
	}
	return out
}

// Default returns the alert with its default threshold.
func (a Alert) Default() Alert {
	for _, text := range []*string{&a.Expr, &a.Summary, &a.Description} {
		*text = strings.ReplaceAll(*text, placeholder, a.Threshold)
	}
	a.Threshold = ""
	return a
}

// YAML returns the set in Prometheus' format, apart from the thresholds. The template of the chart fills them in, and wraps the rules in a
// PrometheusRule.
func (s Set) YAML() ([]byte, error) {
	g := group{Name: "holdfast." + s.Chart}
	for _, a := range s.Alerts {
		g.Rules = append(g.Rules, rule{a.Name, a.Expr, a.Threshold, a.For, a.Labels(), a.Annotations()})
	}
	out, err := yaml.Marshal(file{[]group{g}})
	if err != nil {
		return nil, fmt.Errorf("writing the rules of %s: %w", s.Chart, err)
	}
	return out, nil
}

// Labels returns the labels of the alert.
func (a Alert) Labels() map[string]string {
	labels := map[string]string{"severity": string(a.Severity)}
	if a.Program != "" {
		labels["program"] = a.Program
	}
	return labels
}

// details is a Prometheus template for the value of the expression and its labels.
const details = " Value: {{ printf `%.6g` $value }}.{{ range $name, $label := $labels }} {{ $name }}={{ $label }}{{ end }}"

// Annotations returns the annotations of the alert, as Prometheus templates.
func (a Alert) Annotations() map[string]string {
	return map[string]string{"summary": a.Summary, "description": a.Description + details, "runbook_url": Runbooks + a.Name + ".md"}
}

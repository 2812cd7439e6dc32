// Package alerts makes the rules that Prometheus evaluates for each program. Each alert has a runbook, docs/runbooks/NAME.md, which says
// what it means, what to look at, and what to do.
package alerts

import (
	"fmt"

	"sigs.k8s.io/yaml"
)

// Runbooks is where the pages are.
const Runbooks = "https://github.com/holdfast-project/holdfast/blob/main/docs/runbooks/"

// Severity is who should know.
type Severity string

// The severities: somebody acts now, somebody acts today, it is good to know.
const (
	Critical Severity = "critical"
	Warning  Severity = "warning"
	Info     Severity = "info"
)

// Alert fires when its expression has had a result for a time.
type Alert struct {
	Name        string
	Program     string // for alerts that several programs have
	Severity    Severity
	Expr        string
	For         string // Prometheus' duration; empty: at once
	Summary     string // one line, without a full stop
	Description string // what it means, and the first thing to do
}

// Set are the rules of one chart.
type Set struct {
	Chart  string // its folder
	Alerts []Alert
}

// All returns the sets, one for each chart. Alerts of one installation are told apart from those of another: every aggregation keeps the
// labels cluster and namespace.
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
		For         string            `json:"for,omitempty"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	}
)

// YAML is the set as Prometheus reads it; the chart's template makes a PrometheusRule of it.
func (s Set) YAML() ([]byte, error) {
	g := group{Name: "holdfast." + s.Chart}
	for _, a := range s.Alerts {
		g.Rules = append(g.Rules, rule{a.Name, a.Expr, a.For, a.Labels(), a.Annotations()})
	}
	out, err := yaml.Marshal(file{[]group{g}})
	if err != nil {
		return nil, fmt.Errorf("writing the rules of %s: %w", s.Chart, err)
	}
	return out, nil
}

// Labels of what it sends.
func (a Alert) Labels() map[string]string {
	labels := map[string]string{"severity": string(a.Severity)}
	if a.Program != "" {
		labels["program"] = a.Program
	}
	return labels
}

// details is what Prometheus fills in: the value of the expression, and the labels that tell where.
const details = " Value: {{ printf `%.6g` $value }}.{{ range $name, $label := $labels }} {{ $name }}={{ $label }}{{ end }}"

// Annotations of what it sends, as templates of Prometheus.
func (a Alert) Annotations() map[string]string {
	return map[string]string{"summary": a.Summary, "description": a.Description + details, "runbook_url": Runbooks + a.Name + ".md"}
}

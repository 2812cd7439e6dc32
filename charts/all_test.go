package charts

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// eachRendering runs a test for each chart and setting.
func eachRendering(t *testing.T, test func(t *testing.T, chart, name, values string)) {
	t.Helper()
	for chart, entry := range installed {
		for name, values := range entry.settings {
			t.Run(chart+", "+name, func(t *testing.T) { test(t, chart, name, values) })
		}
	}
}

func TestEveryChartIsLookedAtInFull(t *testing.T) {
	for chart, entry := range installed {
		for _, name := range []string{"default", "ha", "cert manager", "everything"} {
			if _, there := entry.settings[name]; !there && (entry.webhooks != nil || name != "cert manager") {
				t.Errorf("%s: there is no setting %s", chart, name)
			}
		}
	}
}

// What the schema does not list is refused, so it has to list what values.yaml documents, and nothing that is not there.
func TestSchemaListsTheValues(t *testing.T) {
	for chart := range installed {
		var schema map[string]any
		if err := json.Unmarshal(mustRead(t, filepath.Join(chart, "values.schema.json")), &schema); err != nil {
			t.Fatal(err)
		}
		definitions, _ := schema["definitions"].(map[string]any)
		t.Run(chart, func(t *testing.T) { compareKeys(t, "", schema, definitions, loadChart(t, chart).Values) })
	}
}

// Values that all charts have are checked in all of them.
func TestTyposAreRefused(t *testing.T) {
	for values, want := range map[string]string{
		`replicas: 2`:                                "additional properties 'replicas' not allowed",
		`image: {name: a}`:                           "additional properties 'name' not allowed",
		`image: {tag: latest}`:                       "/image/tag",
		`metrics: {serviceMonitor: {enable: true}}`:  "additional properties 'enable' not allowed",
		`metrics: {prometheusRule: {disabled: [a]}}`: "additional properties 'disabled' not allowed",
		`metrics: {dashboards: {folder: a}}`:         "additional properties 'folder' not allowed",
		`metrics: {prometheusRule: {enabled: true, disabledAlerts: [HoldfastDown]}}`: "metrics.prometheusRule.disabledAlerts: there is no alert HoldfastDown",
		`networkPolicy: {enable: true}`:                                              "additional properties 'enable' not allowed",
		`networkPolicy: {metricsFrom: {}}`:                                           "/networkPolicy/metricsFrom",
		`logLevel: loud`:                                                             "/logLevel",
		`extraArgs: [verbose]`:                                                       "/extraArgs/0",
		`{replicaCount: 2, leaderElection: {enabled: false}}`:                        "replicaCount: more than one manager needs",
		`podDisruptionBudget: {enabled: true, minAvailable: 1}`:                      "podDisruptionBudget: set exactly one",
	} {
		for chart := range installed {
			if _, err := render(t, chart, values); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %s: %v", chart, values, err)
			}
		}
	}
}

package charts

import (
	"slices"
	"strings"
	"testing"
)

const elasticChart = "elastic-operator"

// elasticSettings are the values of the renderings that all tests look at.
var elasticSettings = map[string]string{
	"default": ``,
	"ha": `
replicaCount: 2
podDisruptionBudget: {enabled: true}
topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app.kubernetes.io/component: manager}}}]
`,
	"everything": `
commonLabels: {team: training}
replicaCount: 2
image: {registry: registry.example, digest: "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}
serviceAccount: {name: elastic}
crds: {keep: false}
rendezvous: {image: {registry: registry.example}}
kueue: {enabled: true, waitForPodsReady: false, featureGates: "PartialAdmission=true"}
config: {clientConnection: {qps: 100}}
metrics:
  port: 9443
  serviceMonitor: {enabled: true}
  prometheusRule: {enabled: true, labels: {prometheus: main}, disabledAlerts: [HoldfastControllerFallsBehind]}
  dashboards: {enabled: true, namespace: grafana, labels: {grafana_dashboard: null, board: "yes"}, annotations: {grafana_folder: Training}}
networkPolicy: {enabled: true, metricsFrom: [{namespaceSelector: {matchLabels: {name: monitoring}}}]}
podDisruptionBudget: {enabled: true}
`,
	"bare": `
rendezvous: {enabled: false}
metrics: {enabled: false}
rbac: {aggregateClusterRoles: false}
`,
}

func TestTheManagerIsToldOfTheRendezvousServer(t *testing.T) {
	has := func(values string) bool {
		return slices.ContainsFunc(mustParse(t, elasticChart, values).container(t, "manager").Args, func(arg string) bool {
			return strings.HasPrefix(arg, "--rendezvous-image=")
		})
	}
	if !has("") || has(elasticSettings["bare"]) {
		t.Error("--rendezvous-image does not follow rendezvous.enabled")
	}
}

func TestElasticValuesAreRefused(t *testing.T) {
	for values, want := range map[string]string{
		`replicas: 2`:                                         "additional properties 'replicas' not allowed",
		`kueue: {featureGates: on}`:                           "/kueue/featureGates",
		`rendezvous: {image: {tag: latest}}`:                  "/rendezvous/image/tag",
		`{replicaCount: 2, leaderElection: {enabled: false}}`: "replicaCount: more than one manager needs",
	} {
		if _, err := render(t, elasticChart, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", values, err)
		}
	}
}

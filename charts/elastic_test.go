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
inPlace: {enabled: true, storeAddress: "valkey.holdfast.svc:6379", execImage: {registry: registry.example}, storeTLSServerName: store.example}
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

// What the manager is told of restarts in place is nothing, unless they are asked for.
func TestWhatTheElasticManagerAddsToPods(t *testing.T) {
	for values, want := range map[string][]string{
		"": nil,
		elasticSettings["everything"]: {
			"--inplace-store-address=valkey.holdfast.svc:6379", "--inplace-store-acl", "--inplace-store-tls",
			"--inplace-store-tls-server-name=store.example", "--inplace-exec-image=registry.example/holdfast-project/holdfast-exec",
		},
		`inPlace: {enabled: true, storeAddress: "a:1", storeAuth: false, storeTLS: false, storeUsername: u, existingSecret: s, execImage: {repository: e, tag: v1}}`: {
			"--inplace-store-address=a:1", "--inplace-store-username=u", "--inplace-store-secret=s", "--inplace-store-secret-key=password", "--inplace-exec-image=e",
		},
	} {
		var got []string
		for _, arg := range mustParse(t, elasticChart, values).container(t, "manager").Args {
			if strings.Contains(arg, "-exec-image=") {
				arg = arg[:strings.LastIndex(arg, ":")]
			}
			if strings.HasPrefix(arg, "--inplace-") {
				got = append(got, arg)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", values, got, want)
		}
	}
}

// ElasticJobs are led where that is asked for; then their pods may reach the store.
func TestTheOrchestratorLeadsElasticJobs(t *testing.T) {
	guarded := settings["orchestrator and valkey"] + "\nnetworkPolicy: {enabled: true}"
	for values, want := range map[string]bool{guarded: false, settings["everything"]: true} {
		args := mustParse(t, jobSetChart, values).container(t, "orchestrator").Args
		if slices.Contains(args, "--elasticjobs") != want {
			t.Errorf("%s: %q", values, args)
		}
		files := mustRender(t, jobSetChart, values)
		reaches := false
		for name, content := range files {
			reaches = reaches || strings.HasSuffix(name, "networkpolicy.yaml") && strings.Contains(content, "group-name: elastic.pytorch.org")
		}
		if reaches != want {
			t.Errorf("%s: pods of ElasticJobs reach the store: %v", values, reaches)
		}
	}
}

func TestElasticValuesAreRefused(t *testing.T) {
	for values, want := range map[string]string{
		`replicas: 2`:                                                      "additional properties 'replicas' not allowed",
		`kueue: {featureGates: on}`:                                        "/kueue/featureGates",
		`rendezvous: {image: {tag: latest}}`:                               "/rendezvous/image/tag",
		`inPlace: {enabled: true}`:                                         "inPlace.storeAddress: set it",
		`inPlace: {enabled: true, storeAddress: nowhere}`:                  "/inPlace/storeAddress",
		`inPlace: {enabled: true, storeAddress: "a:1", existingSecret: s}`: "with inPlace.storeAuth each ElasticJob has a user",
		`inPlace: {enabled: true, storeAddress: "a:1", storeAuth: false}`:  "inPlace.storeTLS: without inPlace.storeAuth",
		`{replicaCount: 2, leaderElection: {enabled: false}}`:              "replicaCount: more than one manager needs",
	} {
		if _, err := render(t, elasticChart, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", values, err)
		}
	}
}

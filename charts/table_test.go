package charts

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// All charts except the JobSet controller's.
const (
	appWrapperChart  = "appwrapper-controller"
	elasticChart     = "elastic-operator"
	reschedulerChart = "rescheduler"
	inPlaceChart     = "holdfast-inplace"
)

// entry holds a chart's parameters for the tests that all charts share.
type entry struct {
	// settings holds the values of the renderings that all tests use.
	settings map[string]string
	// webhooks lists the kinds of the chart's webhook configurations; nil if it serves none.
	webhooks []string
	// own lists webhook fields that are set by the chart and not by the markers.
	own []string
	// config is a value for the manager's configuration file, and line is the resulting line of the file. Both are
	// empty if the chart does not have such a value.
	config, line string
	// refused maps values that the chart rejects to a part of the error message.
	refused map[string]string
}

// installed lists all charts except the umbrella chart.
var installed = map[string]entry{
	jobSetChart: {settings: settings, webhooks: []string{mutating, validating}}, // more tests are in webhook_test.go and schema_test.go
	inPlaceChart: {
		webhooks: []string{mutating}, own: []string{"timeoutSeconds", "namespaceSelector"},
		refused: map[string]string{
			`webhook: {enabled: false}`:                "webhook.enabled: false is not supported",
			`leaderElection: {enabled: false}`:         "leaderElection.enabled: false is not supported",
			`valkey: {enabled: false}`:                 "valkey.enabled: set it, or set valkey.address",
			`valkey: {address: "a:1"}`:                 "valkey.address: leave it empty",
			`injection: {exitWithoutStoreAfter: soon}`: "/injection/exitWithoutStoreAfter",
			`injection: {exitWithoutStoreAfter: 59s}`:  "injection.exitWithoutStoreAfter: set 60s or longer",
			`injection: {exitWithoutStoreAfter: 0.9m}`: "injection.exitWithoutStoreAfter: set 60s or longer",
			`injection: {exitWithoutStoreAfter: 0s}`:   "injection.exitWithoutStoreAfter: set 60s or longer",
			`injection: {existingSecret: s}`:           "with valkey.auth.enabled each JobSet has a user",
		},
		settings: map[string]string{
			"default": ``, "ha": ha, "cert manager": certManager,
			"everything": observed + `
serviceAccount: {name: inplace}
webhook: {port: 9444, failurePolicy: Fail, timeoutSeconds: 3, namespaceSelector: {matchLabels: {training: "yes"}}}
certificates: {mode: certManager}
leaderElection: {leaseDuration: 30s}
injection:
  exitWithoutStoreAfter: 2m
  execImage: {registry: registry.example}
  agentImage: {registry: registry.example}
valkey: {persistence: {enabled: true}, tls: {existingSecret: store-tls}}
`,
			"external valkey": `
valkey: {enabled: false, address: "redis.data.svc:6380", username: holdfast, existingSecret: redis-user,
  auth: {enabled: true}, tls: {enabled: true, existingSecret: redis-ca, serverName: redis.example}}`,
		},
	},
	appWrapperChart: {
		webhooks: []string{mutating, validating}, own: []string{"matchConditions", "timeoutSeconds"},
		config: "{appwrapper: {faultTolerance: {retryLimit: 5, resetPause: 10s}}}", line: "retryLimit: 5",
		refused: map[string]string{`rbac: {wrappedKinds: [{apiGroups: [a]}]}`: "/rbac/wrappedKinds/0"},
		settings: map[string]string{
			"default": ``, "ha": ha, "cert manager": certManager,
			"everything": observed + `
serviceAccount: {name: appwrappers}
rbac: {wrappedKinds: [{apiGroups: [sparkoperator.k8s.io], resources: [sparkapplications]}]}
crds: {keep: false}
webhook: {port: 9444, failurePolicy: Ignore}
certificates: {mode: certManager}
config: {appwrapper: {faultTolerance: {retryLimit: 5, resetPause: 10s}}}
`,
		},
	},
	elasticChart: {
		config: "{clientConnection: {qps: 100}}", line: "qps: 100",
		refused: map[string]string{
			`kueue: {featureGates: on}`: "/kueue/featureGates", `rendezvous: {image: {tag: latest}}`: "/rendezvous/image/tag",
			`inPlace: {enabled: true}`:                                         "inPlace.storeAddress: set it",
			`inPlace: {enabled: true, storeAddress: nowhere}`:                  "/inPlace/storeAddress",
			`inPlace: {enabled: true, storeAddress: "a:1", existingSecret: s}`: "with inPlace.storeAuth each ElasticJob has a user",
			`inPlace: {enabled: true, storeAddress: "a:1", storeAuth: false}`:  "inPlace.storeTLS: without inPlace.storeAuth",
		},
		settings: map[string]string{
			"default": ``, "ha": ha,
			"everything": observed + `
serviceAccount: {name: elastic}
crds: {keep: false}
rendezvous: {image: {registry: registry.example}}
inPlace: {enabled: true, storeAddress: "valkey.holdfast.svc:6379", execImage: {registry: registry.example}, storeTLSServerName: store.example}
kueue: {enabled: true, waitForPodsReady: false, managedJobsNamespaceSelector: team in (a), featureGates: "PartialAdmission=true"}
config: {clientConnection: {qps: 100}}
`,
			"bare": `
rendezvous: {enabled: false}
metrics: {enabled: false}
rbac: {aggregateClusterRoles: false}
`,
		},
	},
	reschedulerChart: {
		webhooks: []string{mutating}, own: []string{"matchConditions", "namespaceSelector"},
		config: "{rescheduling: {dryRun: true}}", line: "dryRun: true",
		refused: map[string]string{`rbac: {ownerKinds: [{apiGroups: [a]}]}`: "/rbac/ownerKinds/0", `scheduler: {mode: first}`: "/scheduler/mode"},
		settings: map[string]string{
			"default": ``, "ha": ha + "scheduler: {enabled: true, replicaCount: 2}\n", "cert manager": certManager,
			"everything": observed + `
serviceAccount: {name: mover}
rbac: {ownerKinds: [{apiGroups: [sparkoperator.k8s.io], resources: [sparkapplications]}]}
webhook: {port: 9444, timeoutSeconds: 1}
certificates: {mode: certManager}
scheduler: {enabled: true, replicaCount: 2}
config: {rescheduling: {dryRun: true, limits: {node: {burst: 3, every: 10s}}}}
`,
			"profile": `
scheduler: {enabled: true, mode: profile}
metrics: {serviceMonitor: {enabled: true}}
config: {rescheduling: {enforcement: {schedulerNames: [default-scheduler]}}}
`,
			"features": `
config: {rescheduling: {blame: {taint: true}, barePods: {recreate: true}}}
`,
			"bare": `
webhook: {enabled: false}
metrics: {enabled: false}
leaderElection: {enabled: false}
`,
		},
	},
}

// Settings that several charts share.
const (
	ha = `
replicaCount: 2
podDisruptionBudget: {enabled: true}
topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app.kubernetes.io/component: manager}}}]
`
	certManager = `
certificates: {mode: certManager}
certManager: {issuerRef: {name: cluster, kind: ClusterIssuer}}
`
	observed = `
commonLabels: {team: training}
replicaCount: 2
image: {registry: registry.example, digest: "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}
metrics:
  port: 9443
  serviceMonitor: {enabled: true}
  prometheusRule: {enabled: true, labels: {prometheus: main}, disabledAlerts: [HoldfastControllerFallsBehind]}
  dashboards: {enabled: true, namespace: grafana, labels: {grafana_dashboard: null, board: "yes"}, annotations: {grafana_folder: Training}}
networkPolicy: {enabled: true, metricsFrom: [{namespaceSelector: {matchLabels: {name: monitoring}}}]}
podDisruptionBudget: {enabled: true}
`
)

// The webhooks' rules are generated from the code. A chart adds the namespaces that the webhooks skip.
func TestWebhooksMatchMarkers(t *testing.T) {
	for chart, entry := range installed {
		if chart == jobSetChart { // tested in more detail in webhook_test.go
			continue
		}
		all := mustParse(t, chart, "")
		if found := len(all.find(mutating)) + len(all.find(validating)); found != len(entry.webhooks) {
			t.Errorf("%s: %d configurations are rendered", chart, found)
		}
		for _, kind := range entry.webhooks {
			t.Run(chart+", "+kind, func(t *testing.T) {
				file := filepath.Join(chart, "files", "webhook", "manifests.yaml")
				want := parse(t, file, string(mustRead(t, file))).named(t, kind, "")
				got := all.named(t, kind, "")
				if want.GetName() != got.GetName() {
					t.Errorf("it is %s, want %s", got.GetName(), want.GetName())
				}
				name, _, _ := unstructured.NestedString(hooks(got, nil)[0].(map[string]any), "clientConfig", "service", "name")
				if service := as[corev1.Service](t, all.named(t, "Service", name)); service.Spec.Ports[0].Port != 443 {
					t.Errorf("the Service has port %+v", service.Spec.Ports[0])
				}
				if diff := cmp.Diff(hooks(want, entry.own), hooks(got, entry.own)); diff != "" {
					t.Errorf("differs from the generated one (-marker +chart):\n%s", diff)
				}
			})
		}
	}
}

// hooks returns the webhooks of a configuration without the given fields and without the namespace of their Service.
func hooks(configuration *unstructured.Unstructured, without []string) []any {
	all, _, _ := unstructured.NestedSlice(configuration.Object, "webhooks")
	for _, hook := range all {
		for _, field := range without {
			delete(hook.(map[string]any), field)
		}
		unstructured.RemoveNestedField(hook.(map[string]any), "clientConfig", "service", "namespace")
	}
	return all
}

// The manager's flag names the mounted file. If the configuration is empty, there is neither a file nor a flag.
func TestConfigurationIsMounted(t *testing.T) {
	for chart, entry := range installed {
		if entry.config == "" {
			continue
		}
		t.Run(chart, func(t *testing.T) {
			all := mustParse(t, chart, "config: "+entry.config)
			if content, _, _ := unstructured.NestedString(all.find("ConfigMap")[0].Object, "data", "config.yaml"); !strings.Contains(content, entry.line) {
				t.Errorf("the file is %q", content)
			}
			manager := all.container(t, "manager")
			at := slices.IndexFunc(manager.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "config" })
			if at < 0 || !slices.Contains(manager.Args, "--config="+manager.VolumeMounts[at].MountPath+"/config.yaml") {
				t.Errorf("mounts %v, arguments %q", manager.VolumeMounts, manager.Args)
			}
			if found := mustParse(t, chart, "").find("ConfigMap"); len(found) > 0 {
				t.Error("an empty file is rendered")
			}
		})
	}
}

func TestInvalidValuesOfSingleChartsAreRejected(t *testing.T) {
	for chart, entry := range installed {
		for values, want := range entry.refused {
			if _, err := render(t, chart, values); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %s: %v", chart, values, err)
			}
		}
	}
}

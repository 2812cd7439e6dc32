package charts

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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

func TestEveryChartIsTested(t *testing.T) {
	for chart, entry := range installed {
		for _, name := range []string{"default", "ha", "cert manager", "everything"} {
			if _, there := entry.settings[name]; !there && (entry.webhooks != nil || name != "cert manager") {
				t.Errorf("%s: unknown setting %s", chart, name)
			}
		}
	}
}

// The schema rejects values that it does not list, so it must list exactly those that values.yaml documents.
func TestSchemaListsAllValues(t *testing.T) {
	for chart := range installed {
		var schema map[string]any
		if err := json.Unmarshal(mustRead(t, filepath.Join(chart, "values.schema.json")), &schema); err != nil {
			t.Fatal(err)
		}
		definitions, _ := schema["definitions"].(map[string]any)
		t.Run(chart, func(t *testing.T) { compareKeys(t, "", schema, definitions, loadChart(t, chart).Values) })
	}
}

// The API server limits the length of Service names. The StatefulSet controller labels pods with the StatefulSet's
// name, a hyphen and a hash of up to ten digits.
func TestLongestReleaseName(t *testing.T) {
	long := "\nfullnameOverride: " + strings.Repeat("a", 63) + "\n"
	longest := map[string]int{"Service": 63, "StatefulSet": 63 - len("-4294967295")}
	eachRendering(t, func(t *testing.T, chart, _, values string) {
		for _, o := range mustParse(t, chart, values+long) {
			if most := longest[o.GetKind()]; most > 0 && len(o.GetName()) > most {
				t.Errorf("the name of %s %s has %d characters, want at most %d", o.GetKind(), o.GetName(), len(o.GetName()), most)
			}
		}
	})
}

// Server-side apply rejects two environment variables with the same name.
func TestEnvironmentVariablesAreUnique(t *testing.T) {
	eachRendering(t, func(t *testing.T, chart, _, values string) {
		for owner, template := range mustParse(t, chart, values).podTemplates(t) {
			for _, c := range template.Spec.Containers {
				seen := map[string]bool{}
				for _, v := range c.Env {
					if seen[v.Name] {
						t.Errorf("%s: container %s has two variables %s", owner, c.Name, v.Name)
					}
					seen[v.Name] = true
				}
			}
		}
	})
}

// Our images are not public, so a chart with a default registry would install pods that cannot start.
func TestImagesRequireRegistry(t *testing.T) {
	const nothing = "global: {imageRegistry: null}\n"
	for chart, entry := range installed {
		if _, err := render(t, chart, nothing); err == nil || !strings.Contains(err.Error(), "set global.imageRegistry") {
			t.Errorf("%s: without a registry: %v", chart, err)
		}
		if _, err := render(t, chart, nothing+"image: {registry: registry.example}\n"+map[string]string{
			elasticChart: "rendezvous: {image: {registry: registry.example}}",
			inPlaceChart: "injection: {execImage: {registry: registry.example}, agentImage: {registry: registry.example}}",
		}[chart]); err != nil {
			t.Errorf("%s: with a registry for each image: %v", chart, err)
		}
		if strings.Contains(entry.settings["everything"], "global:") {
			t.Errorf("%s: \"everything\" sets the global registry", chart)
		}
		for workload, pod := range mustParse(t, chart, "global: {imageRegistry: mirror.example/a, imagePullSecrets: [{name: all}]}\nimagePullSecrets: [{name: own}]").podTemplates(t) {
			if diff := cmp.Diff([]corev1.LocalObjectReference{{Name: "all"}, {Name: "own"}}, pod.Spec.ImagePullSecrets); diff != "" {
				t.Errorf("%s: pull Secrets of %s (-want +got):\n%s", chart, workload, diff)
			}
			for _, c := range pod.Spec.Containers {
				if !strings.HasPrefix(c.Image, "mirror.example/a/") && c.Image != "docker.io/valkey/valkey:8.1.4" {
					t.Errorf("%s: %s is from another registry", chart, c.Image)
				}
			}
		}
	}
}

// If both replicas of a manager ran on one node, they would be lost together.
func TestReplicasPreferDifferentNodes(t *testing.T) {
	for chart := range installed {
		for values, want := range map[string]bool{"": false, "replicaCount: 2": true, "{replicaCount: 2, affinity: {nodeAffinity: {}}}": false} {
			all := mustParse(t, chart, values)
			pod := as[appsv1.Deployment](t, all.named(t, "Deployment", chart)).Spec
			apart := pod.Template.Spec.Affinity != nil && pod.Template.Spec.Affinity.PodAntiAffinity != nil
			if apart != want {
				t.Errorf("%s, %q: anti-affinity is %t", chart, values, apart)
			}
			if apart {
				term := pod.Template.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm
				if diff := cmp.Diff(pod.Selector, term.LabelSelector); diff != "" {
					t.Errorf("%s: anti-affinity selects other pods (-want +got):\n%s", chart, diff)
				}
			}
		}
	}
}

func TestHostNetwork(t *testing.T) {
	for chart := range installed {
		spec := as[appsv1.Deployment](t, mustParse(t, chart, "{hostNetwork: true, healthPort: 18081}").named(t, "Deployment", chart)).Spec.Template.Spec
		if !spec.HostNetwork || spec.DNSPolicy != corev1.DNSClusterFirstWithHostNet {
			t.Errorf("%s: host network %t, DNS policy %s", chart, spec.HostNetwork, spec.DNSPolicy)
		}
		if !slices.Contains(spec.Containers[0].Args, "--health-probe-bind-address=:18081") || spec.Containers[0].Ports[0].ContainerPort != 18081 {
			t.Errorf("%s: the health port is not 18081: %v", chart, spec.Containers[0].Args)
		}
	}
}

// Values that all charts share are checked with every chart.
func TestSchemaRejectsTypos(t *testing.T) {
	for values, want := range map[string]string{
		`replicas: 2`:                                "additional properties 'replicas' not allowed",
		`image: {name: a}`:                           "additional properties 'name' not allowed",
		`image: {tag: latest}`:                       "/image/tag",
		`metrics: {serviceMonitor: {enable: true}}`:  "additional properties 'enable' not allowed",
		`metrics: {prometheusRule: {disabled: [a]}}`: "additional properties 'disabled' not allowed",
		`metrics: {dashboards: {folder: a}}`:         "additional properties 'folder' not allowed",
		`metrics: {prometheusRule: {enabled: true, disabledAlerts: [HoldfastDown]}}`:          "metrics.prometheusRule.disabledAlerts: there is no alert HoldfastDown",
		`metrics: {prometheusRule: {enabled: true, thresholds: {HoldfastDown: 1}}}`:           "metrics.prometheusRule.thresholds: there is no alert HoldfastDown",
		`metrics: {prometheusRule: {enabled: true, thresholds: {HoldfastControllerDown: 1}}}`: "metrics.prometheusRule.thresholds: HoldfastControllerDown has no threshold",
		`metrics: {prometheusRule: {enabled: true, for: {HoldfastDown: 1m}}}`:                 "metrics.prometheusRule.for: there is no alert HoldfastDown",
		`metrics: {prometheusRule: {for: {HoldfastControllerDown: soon}}}`:                    "/metrics/prometheusRule/for/HoldfastControllerDown",
		`networkPolicy: {enable: true}`:                                                       "additional properties 'enable' not allowed",
		`networkPolicy: {metricsFrom: {}}`:                                                    "/networkPolicy/metricsFrom",
		`logLevel: loud`:                                                                      "/logLevel",
		`extraArgs: [verbose]`:                                                                "/extraArgs/0",
		`{replicaCount: 2, leaderElection: {enabled: false}}`:                                 "replicaCount: more than one manager needs",
		`podDisruptionBudget: {enabled: true, minAvailable: 1}`:                               "podDisruptionBudget: set exactly one",
	} {
		for chart := range installed {
			if _, err := render(t, chart, values); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %s: %v", chart, values, err)
			}
		}
	}
}

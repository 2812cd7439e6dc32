package charts

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/tools/charts/plain"
)

const (
	jobSetChart = "jobset-controller"
	notes       = "NOTES.txt"
)

// settings holds the values of the renderings that all tests use.
var settings = map[string]string{
	"default": ``,
	"orchestrator and valkey": `
orchestrator: {enabled: true}
valkey: {enabled: true}`,
	"external valkey": `
orchestrator: {enabled: true}
valkey: {address: "redis.data.svc:6380", username: holdfast, existingSecret: redis-user, existingSecretKey: secret}`,
	"guarded external valkey": `
orchestrator: {enabled: true}
valkey: {address: "redis.data.svc:6380", username: holdfast, existingSecret: redis-user,
  auth: {enabled: true}, tls: {enabled: true, existingSecret: redis-ca, serverName: redis.example}}`,
	"open valkey": `
orchestrator: {enabled: true}
injection: {storeAddress: "store.example:6400", storeUsername: workers, existingSecret: workers, existingSecretKey: token}
valkey: {enabled: true, existingSecret: store, auth: {enabled: false}, tls: {enabled: false}}`,
	"ha": `
replicaCount: 2
orchestrator: {enabled: true}
valkey: {enabled: true, persistence: {enabled: true}}
podDisruptionBudget: {enabled: true}
topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app.kubernetes.io/component: manager}}}]
`,
	"cert manager": `
certificates: {mode: certManager}
certManager: {issuerRef: {name: cluster, kind: ClusterIssuer}}
`,
	"everything": everything,
}

const everything = `
nameOverride: jobsets
commonLabels: {team: training}
replicaCount: 2
image: {registry: registry.example, digest: "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}
imagePullSecrets: [{name: pull}]
serviceAccount: {name: jobsets, annotations: {a: b}}
crds: {keep: false}
webhook: {port: 9444, timeoutSeconds: 5}
certificates: {mode: certManager}
maxConcurrentReconciles: 16
clientConnection: {qps: 0.5, burst: 1000000}
logLevel: 5
extraArgs: [--zap-encoder=console]
extraEnv: [{name: GOMEMLIMIT, value: 400MiB}]
extraVolumes: [{name: extra, emptyDir: {}}]
extraVolumeMounts: [{name: extra, mountPath: /extra}]
podAnnotations: {c: d}
podLabels: {e: f}
priorityClassName: system-cluster-critical
nodeSelector: {role: system}
tolerations: [{key: role, operator: Exists}]
affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: []}}
topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}]
podDisruptionBudget: {enabled: true, minAvailable: 50%, maxUnavailable: null}
metrics:
  port: 9443
  serviceMonitor: {enabled: true, labels: {prometheus: main}}
  prometheusRule: {enabled: true, labels: {prometheus: main}, disabledAlerts: [HoldfastControllerFallsBehind]}
  dashboards: {enabled: true, namespace: grafana, labels: {grafana_dashboard: null, board: "yes"}, annotations: {grafana_folder: Training}}
networkPolicy: {enabled: true, metricsFrom: [{namespaceSelector: {matchLabels: {name: monitoring}}}], storeFrom: [{podSelector: {matchLabels: {app: agent}}}]}
orchestrator:
  enabled: true
  image: {registry: localhost, repository: orchestrator, tag: dev}
  leaseDuration: 30s
  elasticJobs: true
  extraArgs: [--zap-encoder=console]
  extraEnv: [{name: GOMEMLIMIT, value: 400MiB}]
  extraVolumeMounts: [{name: extra, mountPath: /extra}]
  metrics: {enabled: true}
injection:
  execImage: {registry: registry.example, digest: "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}
  agentImage: {registry: localhost, repository: agent, tag: dev}
  storeAddress: store.example:6400
valkey:
  enabled: true
  existingSecret: store
  existingSecretKey: token
  auth: {passwordMaxAge: 24h, defaultUser: agents}
  tls: {existingSecret: store-tls}
  maxMemory: 2gb
  serviceName: store
  port: 6400
  agents: 500
  persistence: {enabled: true, storageClassName: fast}
  podAnnotations: {c: d}
  podLabels: {e: f}
  nodeSelector: {role: system}
  tolerations: [{key: role, operator: Exists}]
  affinity: {nodeAffinity: {}}
criPolicy: {enabled: true, namespaces: [a, b], allPods: true, validationActions: [Deny, Audit]}
`

// objects holds the objects of one rendering, in the order of the templates.
type objects []*unstructured.Unstructured

func loadChart(t *testing.T, name string) *chart.Chart {
	t.Helper()
	c, err := loader.LoadDir(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// render returns the files that a chart renders with the given values, by their path in the chart.
func render(t *testing.T, name, values string) (map[string]string, error) {
	t.Helper()
	return renderFor(t, plain.Capabilities(), name, values)
}

func renderFor(t *testing.T, capabilities *common.Capabilities, name, values string) (map[string]string, error) {
	t.Helper()
	overrides := map[string]any{"global": map[string]any{"imageRegistry": "registry.example"}}
	if err := yaml.Unmarshal([]byte(values), &overrides); err != nil {
		t.Fatal(err)
	}
	c := loadChart(t, name)
	all, err := util.ToRenderValues(c, overrides, common.ReleaseOptions{
		Name: "test", Namespace: "holdfast", Revision: 1, IsInstall: true,
	}, capabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(c, all)
}

func mustRender(t *testing.T, name, values string) map[string]string {
	t.Helper()
	files, err := render(t, name, values)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// mustParse returns the objects that a chart renders. Every document must be an object.
func mustParse(t *testing.T, name, values string) objects {
	t.Helper()
	files := mustRender(t, name, values)
	var all objects
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if filepath.Ext(file) != ".yaml" {
			continue
		}
		all = append(all, parse(t, file, files[file])...)
	}
	return all
}

func parse(t *testing.T, file, content string) objects {
	t.Helper()
	var found objects
	for documents := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(content))); ; {
		raw, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		obj := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(raw, &obj.Object); err != nil { // a duplicate key is an error
			t.Fatalf("%s: %v\n%s", file, err, raw)
		}
		if len(obj.Object) > 0 {
			found = append(found, obj)
		}
	}
}

// manifests writes the plain manifests, as `make manifests` does, and returns their directory.
func manifests(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := plain.Write(".", folder, "registry.example", "v0.0.0"); err != nil {
		t.Fatal(err)
	}
	return folder
}

// find returns the objects of a kind.
func (o objects) find(kind string) objects {
	var found objects
	for _, obj := range o {
		if obj.GetKind() == kind {
			found = append(found, obj)
		}
	}
	return found
}

// named returns the object of a kind whose name has the given suffix.
func (o objects) named(t *testing.T, kind, ending string) *unstructured.Unstructured {
	t.Helper()
	for _, obj := range o.find(kind) {
		if strings.HasSuffix(obj.GetName(), ending) {
			return obj
		}
	}
	t.Fatalf("no %s *%s is rendered", kind, ending)
	return nil
}

// as converts an object. An unknown field fails the test.
func as[T any](t *testing.T, obj *unstructured.Unstructured) *T {
	t.Helper()
	into := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(obj.Object, into, true); err != nil {
		t.Fatalf("%s %s: %v", obj.GetKind(), obj.GetName(), err)
	}
	return into
}

// podTemplates returns the rendered pod templates by the name of their owner.
func (o objects) podTemplates(t *testing.T) map[string]corev1.PodTemplateSpec {
	t.Helper()
	found := map[string]corev1.PodTemplateSpec{}
	for _, obj := range o.find("Deployment") {
		found[obj.GetName()] = as[appsv1.Deployment](t, obj).Spec.Template
	}
	for _, obj := range o.find("StatefulSet") {
		found[obj.GetName()] = as[appsv1.StatefulSet](t, obj).Spec.Template
	}
	if len(found) == 0 {
		t.Fatal("no pod is rendered")
	}
	return found
}

// container returns the manager pod's container with the given name.
func (o objects) container(t *testing.T, name string) corev1.Container {
	t.Helper()
	for _, pod := range o.podTemplates(t) {
		for _, c := range pod.Spec.Containers {
			if c.Name == name {
				return c
			}
		}
	}
	t.Fatalf("no container is named %s", name)
	return corev1.Container{}
}

func mustRead(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(content)
}

package kueue

import (
	"encoding/json"
	"slices"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// module is a minimal module with the structure of Kueue's.
var module = fstest.MapFS{
	"config/components/crd/kustomization.yaml": {Data: []byte(`
patches:
- path: patches/webhook_in_workloads.yaml
#- path: patches/webhook_in_flavors.yaml
- path: patches/cainjection_in_flavors.yaml
`)},
	"config/components/crd/patches/webhook_in_workloads.yaml": {Data: []byte(`
kind: CustomResourceDefinition
metadata: {name: workloads.kueue.x-k8s.io}
`)},
	"config/components/crd/bases/workloads.yaml": {Data: []byte(`
kind: CustomResourceDefinition
metadata: {name: workloads.kueue.x-k8s.io}
spec: {group: kueue.x-k8s.io}
`)},
	"config/components/crd/bases/flavors.yaml": {Data: []byte(`---
kind: CustomResourceDefinition
metadata: {name: flavors.kueue.x-k8s.io}
spec: {group: kueue.x-k8s.io}
`)},
	"config/components/webhook/manifests.yaml": {Data: []byte(`---
kind: MutatingWebhookConfiguration
metadata: {name: mutating-webhook-configuration}
webhooks:
- name: mclusterqueue.kb.io
  clientConfig: {service: {name: s, namespace: n, path: /mutate-clusterqueue}}
  rules: [{apiGroups: [kueue.x-k8s.io], resources: [clusterqueues]}]
- name: mjob.kb.io
  clientConfig: {service: {name: s, namespace: n, path: /mutate-job}}
  rules: [{apiGroups: [batch], resources: [jobs]}]
- name: mpod.kb.io
  clientConfig: {service: {name: s, namespace: n, path: /mutate-pod}}
  rules: [{apiGroups: [""], resources: [pods]}]
---
kind: ValidatingWebhookConfiguration
metadata: {name: validating-webhook-configuration}
webhooks:
- name: vjobset.kb.io
  clientConfig: {service: {name: s, namespace: n, path: /validate-jobset}}
  rules: [{apiGroups: [jobset.x-k8s.io], resources: [jobsets]}]
`)},
}

var webhook = Webhook{URL: "https://10.87.0.1:1", CA: []byte("ca")}

func TestOnlyKindsInTheKustomizationAreConverted(t *testing.T) {
	crds, err := CRDs(module, webhook)
	if err != nil {
		t.Fatal(err)
	}
	urls := map[string]string{}
	for _, crd := range crds {
		urls[crd.GetName()], _, _ = unstructured.NestedString(crd.Object, "spec", "conversion", "webhook", "clientConfig", "url")
	}
	if len(urls) != 2 || urls["workloads.kueue.x-k8s.io"] != "https://10.87.0.1:1/convert" || urls["flavors.kueue.x-k8s.io"] != "" {
		t.Errorf("converted at %v", urls)
	}
}

func TestOnlyWebhooksOfTheFrameworksAreKept(t *testing.T) {
	for name, test := range map[string]struct{ frameworks, want []string }{
		"Kueue's own kinds always": {nil, []string{"mclusterqueue.kb.io"}},
		"the usual frameworks":     {Frameworks(), []string{"mclusterqueue.kb.io", "mjob.kb.io", "vjobset.kb.io"}},
		"another framework":        {[]string{"jobset.x-k8s.io/jobset"}, []string{"mclusterqueue.kb.io", "vjobset.kb.io"}},
	} {
		t.Run(name, func(t *testing.T) {
			configurations, err := WebhookConfigurations(module, webhook, test.frameworks)
			if err != nil {
				t.Fatal(err)
			}
			var kept []string
			for _, configuration := range configurations {
				hooks, _, _ := unstructured.NestedSlice(configuration.Object, "webhooks")
				for _, hook := range hooks {
					kept = append(kept, hook.(map[string]any)["name"].(string))
				}
			}
			if !slices.Equal(kept, test.want) {
				t.Errorf("kept %v, want %v", kept, test.want)
			}
		})
	}
}

func TestWebhooksAreReachedByURL(t *testing.T) {
	configurations, err := WebhookConfigurations(module, webhook, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := configurations[0].GetName(); got != "kueue-mutating-webhook-configuration" {
		t.Errorf("the name of the configuration is %s", got)
	}
	raw, err := json.Marshal(configurations[0].Object["webhooks"].([]any)[0].(map[string]any)["clientConfig"])
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"caBundle":"Y2E=","url":"https://10.87.0.1:1/mutate-clusterqueue"}`; string(raw) != want {
		t.Errorf("got %s, want %s", raw, want)
	}
}

func TestAModuleOfAnotherStructureIsRejected(t *testing.T) {
	for missing := range module {
		if missing == "config/components/crd/bases/flavors.yaml" || missing == "config/components/crd/bases/workloads.yaml" {
			continue // one of several
		}
		changed := fstest.MapFS{}
		for file, content := range module {
			if file != missing {
				changed[file] = content
			}
		}
		_, err := CRDs(changed, webhook)
		_, webhookErr := WebhookConfigurations(changed, webhook, nil)
		if err == nil && webhookErr == nil {
			t.Errorf("no error without %s", missing)
		}
	}
	if _, err := CRDs(fstest.MapFS{"config/components/crd/kustomization.yaml": {Data: []byte("patches: []")}}, webhook); err == nil {
		t.Error("a module without CRDs is accepted")
	}
}

func TestConfigEnablesWaitForPodsReady(t *testing.T) {
	got, err := Config(Settings{Frameworks: Frameworks(), WebhookHost: "h", WebhookPort: 1, CertDir: "d"})
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		WaitForPodsReady *struct{ Timeout string }
		Integrations     struct{ Frameworks []string }
	}
	if err := json.Unmarshal([]byte(got), &config); err != nil {
		t.Fatal(err)
	}
	if config.WaitForPodsReady == nil || !slices.Equal(config.Integrations.Frameworks, Frameworks()) {
		t.Errorf("the configuration is %s", got)
	}
}

func TestFrameworksOfOtherProgramsAreExternal(t *testing.T) {
	raw, err := Config(Settings{Frameworks: []string{"batch/job", "ElasticJob.v1alpha1.elastic.pytorch.org"}})
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Integrations struct{ Frameworks, ExternalFrameworks []string }
	}
	if err := json.Unmarshal([]byte(raw), &config); err != nil {
		t.Fatal(err)
	}
	i := config.Integrations
	if !slices.Equal(i.Frameworks, []string{"batch/job"}) || !slices.Equal(i.ExternalFrameworks, []string{"ElasticJob.v1alpha1.elastic.pytorch.org"}) {
		t.Errorf("%+v", i)
	}
}

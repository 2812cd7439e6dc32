//go:build envtest

package app

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
)

// Each example does what it says, on a node that rejects its pods.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../../examples/rescheduler/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("examples: %v (%v)", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			w := newWorld(t, func(r *settings.Rescheduling) { r.BarePods.Recreate = true })
			w.plugin = true
			w.onBad(func() *corev1.PodStatus { return rejects("TopologyAffinityError") })
			content, err := os.ReadFile(file)
			w.ok(err)
			o := &unstructured.Unstructured{}
			w.ok(yaml.Unmarshal(content, &o.Object))
			o.SetNamespace(w.namespace)
			pods := 1
			at := []string{"spec", "template", "spec", "nodeSelector"}
			if o.GetKind() == "Pod" {
				at = at[2:]
				at[0] = "spec"
			}
			if n, found, _ := unstructured.NestedInt64(o.Object, "spec", "replicas"); found {
				pods = int(n)
			} else if n, found, _ := unstructured.NestedFloat64(o.Object, "spec", "replicas"); found {
				pods = int(n)
			}
			w.ok(unstructured.SetNestedStringMap(o.Object, map[string]string{"world": w.namespace}, at...))
			w.ok(w.Create(t.Context(), o))
			w.eventually("it does not run on the good node", w.runningOnGood(pods))
		})
	}
}

// The same without a webhook: the API server itself reads what the controller keeps for it.
func TestThePolicyStandsInForTheWebhook(t *testing.T) {
	w := newWorld(t, func(r *settings.Rescheduling) {
		r.Admission.Way, r.Enforcement.SchedulerNames = settings.Policy, []string{corev1.DefaultSchedulerName}
	})
	w.plugin = true
	w.installPolicy()
	w.onBad(outOfMemory)
	w.deployment(1)
	w.eventually("the pod does not run on the good node", w.runningOnGood(1))
	for _, pod := range w.pods(t.Context()) {
		if pod.Annotations["theirs"] != "kept" || !strings.Contains(pod.Annotations["sigs.k8s.io/scheduledHosts"], w.bad) {
			t.Errorf("annotations %v", pod.Annotations)
		}
	}
}

// installPolicy as the chart renders it, for this world, in the place of the webhook.
func (w *world) installPolicy() {
	w.Helper()
	content, err := os.ReadFile("../../../charts/testdata/rescheduler/policy.yaml")
	w.ok(err)
	_, rendered, found := strings.Cut(string(content), "### rescheduler/templates/policy.yaml\n")
	if !found {
		w.Fatal("the chart renders no policy")
	}
	rendered, _, _ = strings.Cut(rendered, "\n### ")
	for _, document := range strings.Split(rendered, "\n---\n") {
		o := &unstructured.Unstructured{}
		w.ok(yaml.Unmarshal([]byte(document), &o.Object))
		o.SetName(w.namespace)
		if o.GetKind() == "MutatingAdmissionPolicyBinding" {
			w.ok(unstructured.SetNestedField(o.Object, w.namespace, "spec", "policyName"))
		} else {
			selector := map[string]string{"kubernetes.io/metadata.name": w.namespace}
			w.ok(unstructured.SetNestedStringMap(o.Object, selector, "spec", "matchConstraints", "namespaceSelector", "matchLabels"))
		}
		w.ok(w.Create(w.Context(), o))
		w.Cleanup(func() { _ = w.Delete(context.Background(), o) })
	}
}

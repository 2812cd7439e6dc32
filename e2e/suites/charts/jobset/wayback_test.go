//go:build e2e

package jobset

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/testbed"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

const (
	publishedProgram = "published-jobset"
	publishedPort    = 9847
	publishedHealth  = "127.0.0.1:18847"
)

// The steps of docs/migration.md, with helm and the published controller. Our chart is uninstalled, the published
// manifests take over what it has kept, and then the chart adopts everything again.
func TestMigratingBackAndForthWithTheChart(t *testing.T) {
	c := start(t)
	v := values()
	for _, component := range []string{"orchestrator", "injection", "valkey"} {
		delete(v, component)
	}
	t.Cleanup(func() {
		c.must(c.Cluster.StopProgram(context.Background(), publishedProgram))
		for _, name := range []string{"first", "early", "second", "third"} {
			c.must(c.Remove(context.Background(), jobs, name))
		}
	})
	c.step("our controller sets the defaults of a JobSet and creates its Job", func() {
		c.must(c.release.Install(c.ctx, v))
		c.checkNew("first")
	})
	c.step("after helm uninstall no JobSet can be created, and those that exist stay", func() {
		c.must(c.release.Uninstall())
		if err := c.Client.Create(c.ctx, bare("early")); err == nil || !strings.Contains(err.Error(), "failed calling webhook") {
			c.Errorf("a JobSet was created without its defaults: %v", err)
		}
		c.must(c.Client.Get(c.ctx, client.ObjectKey{Namespace: jobs, Name: "first"}, &v1alpha2.JobSet{}))
	})
	c.step("the published manifests take over the remaining objects, and the published controller works", func() {
		c.takeBack()
		c.checkNew("second")
	})
	c.step("the chart adopts it again", func() {
		c.must(c.Cluster.StopProgram(c.ctx, publishedProgram))
		c.must(c.release.Install(c.ctx, v))
		c.checkNew("third")
		c.checkRefusal()
	})
}

// bare returns a JobSet as a user writes it, without the fields that a webhook sets.
func bare(name string) *v1alpha2.JobSet {
	js := &v1alpha2.JobSet{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: jobs}}
	js.Spec.ReplicatedJobs = []v1alpha2.ReplicatedJob{{Name: "w", Replicas: 1, Template: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{
		Parallelism: ptr.To[int32](1), Completions: ptr.To[int32](1),
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			SchedulingGates: []corev1.PodSchedulingGate{{Name: "e2e.holdfast.dev/never"}}, Containers: []corev1.Container{{Name: "worker", Image: "worker"}},
		}},
	}}}}
	return js
}

// checkNew creates a JobSet as soon as a webhook responds, and waits for its Job.
func (c *installation) checkNew(name string) {
	c.Helper()
	js := bare(name)
	c.must(framework.Until(c.ctx, "a JobSet can be created", func(ctx context.Context) error { return c.Client.Create(ctx, js) }))
	if mode := js.Spec.ReplicatedJobs[0].Template.Spec.CompletionMode; ptr.Deref(mode, "") != batchv1.IndexedCompletion {
		c.Errorf("no webhook has set the completion mode: %v", mode)
	}
	c.must(framework.Until(c.ctx, "the JobSet has its Job", func(ctx context.Context) error {
		return c.Client.Get(ctx, client.ObjectKey{Namespace: jobs, Name: name + "-w-0"}, &batchv1.Job{})
	}))
}

// takeBack applies the published CRD and webhook configurations over those that the chart has kept. It runs the
// published controller on this host and directs the webhooks to it.
func (c *installation) takeBack() {
	c.Helper()
	published, err := c.PublishedManager(c.ctx, framework.PublishedAddresses{WebhookPort: publishedPort, Metrics: "0", Health: publishedHealth})
	c.must(err)
	components := filepath.Join(filepath.Dir(published.Webhooks), "..")
	var configurations []*unstructured.Unstructured
	for _, file := range []string{filepath.Join(components, "crd", "bases", "jobset.x-k8s.io_jobsets.yaml"), published.Webhooks} {
		for _, object := range documents(c.T, file) {
			if strings.HasSuffix(object.GetKind(), "WebhookConfiguration") {
				object.SetName("jobset-" + object.GetName()) // as kustomize does
				configurations = append(configurations, object)
			}
			c.must(c.Client.Apply(c.ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("kubectl"), client.ForceOwnership))
		}
	}
	c.must(c.Cluster.StartProgram(c.ctx, testbed.Program{Name: publishedProgram, Command: published.Command, Ready: framework.Healthy(publishedHealth)}))
	for _, configuration := range configurations {
		c.lead(configuration)
	}
}

// lead directs a configuration's webhooks to this host. Each must be a webhook of the published controller.
func (c *installation) lead(published *unstructured.Unstructured) {
	c.Helper()
	paths := map[string]string{}
	wanted, _, _ := unstructured.NestedSlice(published.Object, "webhooks")
	for _, hook := range wanted {
		name, _, _ := unstructured.NestedString(hook.(map[string]any), "name")
		paths[name], _, _ = unstructured.NestedString(hook.(map[string]any), "clientConfig", "service", "path")
	}
	authority, err := c.Cluster.Authority()
	c.must(err)
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(published.GroupVersionKind())
	c.must(c.Client.Get(c.ctx, client.ObjectKeyFromObject(published), live))
	hooks, _, _ := unstructured.NestedSlice(live.Object, "webhooks")
	for _, hook := range hooks {
		name, _, _ := unstructured.NestedString(hook.(map[string]any), "name")
		path, known := paths[name]
		if !known {
			c.Errorf("%s still has %s of the chart, which no program serves", live.GetName(), name)
		}
		hook.(map[string]any)["clientConfig"] = map[string]any{
			"url": fmt.Sprintf("https://%s:%d%s", c.Cluster.HostAddress(), publishedPort, path), "caBundle": base64.StdEncoding.EncodeToString(authority),
		}
	}
	c.must(unstructured.SetNestedSlice(live.Object, hooks, "webhooks"))
	c.must(c.Client.Update(c.ctx, live))
}

func documents(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for text := range strings.SplitSeq(strings.TrimPrefix(string(content), "---"), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
			t.Fatal(err)
		}
		if len(object.Object) > 0 {
			unstructured.RemoveNestedField(object.Object, "metadata", "creationTimestamp")
			objects = append(objects, object)
		}
	}
	return objects
}

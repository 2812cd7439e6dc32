//go:build envtest

package published

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/beside"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

// installLeaderWorkerSets installs a CustomResourceDefinition of LeaderWorkerSets that accepts any fields.
func installLeaderWorkerSets(t *testing.T) {
	t.Helper()
	anything := &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}
	_, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{{
		ObjectMeta: metav1.ObjectMeta{Name: "leaderworkersets.leaderworkerset.x-k8s.io", Annotations: map[string]string{"api-approved.kubernetes.io": "unapproved, a test"}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: beside.LeaderWorkerSet.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "LeaderWorkerSet", ListKind: "LeaderWorkerSetList", Plural: "leaderworkersets", Singular: "leaderworkerset"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: anything},
			}},
		},
	}}})
	must(t, err)
}

var serving = corev1.PodSpec{Containers: []corev1.Container{{Name: "worker", Image: "serve:1", Command: []string{"serve"}}}}

// createSet installs the LeaderWorkerSet CRD and creates a LeaderWorkerSet with two replicas of one worker each.
func (g *guest) createSet(annotations map[string]string, change func(*unstructured.Unstructured)) {
	g.Helper()
	installLeaderWorkerSets(g.T)
	g.createDefinedSet(annotations, change)
}

func (g *guest) createDefinedSet(annotations map[string]string, change func(*unstructured.Unstructured)) {
	g.Helper()
	template, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&corev1.PodTemplateSpec{Spec: serving})
	g.ok(err)
	set := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"replicas": int64(2), "startupPolicy": "LeaderCreated", "leaderWorkerTemplate": map[string]any{"size": int64(2), "workerTemplate": template},
	}}}
	set.SetGroupVersionKind(beside.LeaderWorkerSet)
	set.SetNamespace(g.namespace)
	set.SetName("serve")
	set.SetAnnotations(annotations)
	if change != nil {
		change(set)
	}
	k8s, err := client.New(config, client.Options{})
	g.ok(err)
	g.eventually(func() string { // the webhooks of a newly started controller need a moment
		if err := k8s.Create(g.Context(), set); err != nil {
			return err.Error()
		}
		return ""
	})
}

// createReplica creates the pods of a replica, as the StatefulSets of the LeaderWorkerSet controller do. That
// controller's webhook has not labeled the worker yet.
func (g *guest) createReplica(replica int) []*corev1.Pod {
	g.Helper()
	leader := "serve-" + strconv.Itoa(replica)
	pod := func(name, set, index string, labels, annotations map[string]string) *corev1.Pod {
		labels["leaderworkerset.sigs.k8s.io/name"], labels["apps.kubernetes.io/pod-index"] = "serve", index
		labels["leaderworkerset.sigs.k8s.io/group-index"] = strconv.Itoa(replica)
		annotations["leaderworkerset.sigs.k8s.io/size"] = "2"
		return g.createMember(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Labels: labels, Annotations: annotations,
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: set, UID: "1", Controller: ptr.To(true)}},
			},
			Spec: *serving.DeepCopy(),
		})
	}
	return []*corev1.Pod{
		pod(leader, "serve", strconv.Itoa(replica), map[string]string{"leaderworkerset.sigs.k8s.io/worker-index": "0"}, map[string]string{}),
		pod(leader+"-1", leader, "1", map[string]string{}, map[string]string{"leaderworkerset.sigs.k8s.io/leader-name": leader}),
	}
}

// runReplica makes the pods of a replica join their group.
func (g *guest) runReplica(replica int, pods []*corev1.Pod) {
	g.Helper()
	g.group = string(pods[0].UID)
	for i, pod := range pods {
		g.joinAt(replicaSlot(replica, i), pod, 1)
	}
	g.awaitOfPod(pods[0].Name, inSync+"=True/InSync")
}

func replicaSlot(replica, index int) string {
	return fmt.Sprintf("serve-%d-workers-0-%d", replica, index)
}

func TestReplicasOfALeaderWorkerSetRestartSeparately(t *testing.T) {
	g := newGuest(t)
	g.createSet(map[string]string{v1alpha2.InPlaceTimeoutKey: "60s", v1alpha2.MaxRestartsKey: "1"}, nil)
	other, pods := g.createReplica(0), g.createReplica(1)
	g.runReplica(0, other)
	g.runReplica(1, pods)
	g.dieAt(replicaSlot(1, 1), pods[1])
	g.awaitRestartsOf("serve-1", "1")
	g.runReplica(1, pods)
	g.dieAt(replicaSlot(1, 0), pods[0])
	g.eventually(func() string { // the budget is used up: the LeaderWorkerSet controller recreates the replica
		list, err := g.core.CoreV1().Pods(g.namespace).List(g.Context(), metav1.ListOptions{})
		g.ok(err)
		var names []string
		for _, pod := range list.Items {
			names = append(names, pod.Name)
		}
		return sandbox.Differs("pods", "serve-0 serve-0-1", strings.Join(names, " "))
	})
	if got := g.podNamed("serve-0").Annotations[v1alpha2.InPlaceRestartsKey]; got != "0" {
		t.Errorf("the other replica has restarted %s times", got)
	}
	g.runReplica(1, g.createReplica(1))
}

func TestReplicaThatTheWebhookMissedInPartIsRecreated(t *testing.T) {
	g := newGuest(t)
	g.createSet(map[string]string{v1alpha2.InPlaceTimeoutKey: "60s"}, nil)
	pods := g.createReplica(0)
	worker := pods[1].DeepCopy() // changed to look as if the webhook had missed it
	worker.Labels = map[string]string{"leaderworkerset.sigs.k8s.io/name": "serve", "leaderworkerset.sigs.k8s.io/group-index": "0"}
	worker.Annotations = map[string]string{"leaderworkerset.sigs.k8s.io/size": "2", "leaderworkerset.sigs.k8s.io/leader-name": "serve-0"}
	_, err := g.core.CoreV1().Pods(g.namespace).Update(t.Context(), worker, metav1.UpdateOptions{})
	g.ok(err)
	g.awaitEvent("serve-0", "InPlacePodsWithoutAgents")
}

func TestReplicaThatTheWebhookMissedAsAWholeIsReported(t *testing.T) {
	g := newGuest(t)
	g.createSet(map[string]string{v1alpha2.InPlaceTimeoutKey: "60s"}, nil)
	g.stop()
	g.createReplica(0)
	g.start()
	if got := g.awaitOfPod("serve-0", inSync+"=False/NotPossible"); !strings.Contains(got, "created without agents") {
		t.Errorf("the condition is %q", got)
	}
}

func TestLeaderWorkerSetThatCannotRestartInPlaceIsReported(t *testing.T) {
	for name, c := range map[string]struct {
		timeout string
		change  func(*unstructured.Unstructured)
		why     string
	}{
		"a bad annotation": {"soon", nil, `"soon"`},
		"workers after a ready leader": {"60s", func(set *unstructured.Unstructured) {
			must(t, unstructured.SetNestedField(set.Object, "LeaderReady", "spec", "startupPolicy"))
		}, "spec.startupPolicy"},
		"workers without a command": {"60s", func(set *unstructured.Unstructured) {
			containers := []any{map[string]any{"name": "worker", "image": "serve:1"}}
			must(t, unstructured.SetNestedSlice(set.Object, containers, "spec", "leaderWorkerTemplate", "workerTemplate", "spec", "containers"))
		}, "workerTemplate: no agent can be added"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuest(t)
			g.createSet(map[string]string{v1alpha2.InPlaceTimeoutKey: c.timeout}, c.change)
			for _, pod := range g.createReplica(0) {
				if len(pod.Spec.InitContainers) > 0 {
					t.Errorf("%s has an agent", pod.Name)
				}
			}
			if got := g.awaitOfPod("serve-0", inSync+"=False/NotPossible"); !strings.Contains(got, c.why) {
				t.Errorf("the condition is %q, want it to contain %q", got, c.why)
			}
		})
	}
}

func TestLeaderWorkerSetThatDoesNotAskIsIgnored(t *testing.T) {
	g := newGuest(t)
	g.createSet(nil, nil)
	for _, pod := range g.createReplica(0) {
		if len(pod.Spec.InitContainers) > 0 || pod.Labels[v1alpha2.GroupKindKey] != "" || pod.Labels[v1alpha2.PodGroupKey] != "" {
			t.Errorf("%s is changed: %v", pod.Name, pod.Labels)
		}
	}
}

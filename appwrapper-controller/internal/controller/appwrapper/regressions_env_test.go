//go:build envtest

package appwrapper

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/pods"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/settings"
	. "github.com/holdfast-project/holdfast/appwrapper-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/recovering"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

// B-2: a controller that has just started does not treat objects as deleted because its caches do not contain them
// yet.
func TestB2CacheMissIsConfirmed(t *testing.T) {
	w := newWorld(t)
	for i := range 6 {
		name := fmt.Sprint("a-", i)
		w.create(MakeAppWrapper(name).Job(name, 1))
	}
	for range 3 {
		w.Stop()
		w.start()
	}
	for i := range 6 {
		w.awaitPhase(fmt.Sprint("a-", i), v1beta2.Running)
	}
	w.Always(func() string {
		for i := range 6 {
			if p := w.get(fmt.Sprint("a-", i)).Status.Phase; p != v1beta2.Running {
				return fmt.Sprintf("a-%d is %s", i, p)
			}
		}
		return ""
	})
}

// B-2: an object of the previous attempt that is still in the cache does not count in this one.
func TestB2FailureIsCountedOnce(t *testing.T) {
	w := newWorld(t)
	job := w.running(MakeAppWrapper("a").Job("j", 1), "j", "p")
	w.finishJob(job, batchv1.JobFailed)
	w.awaitCondition("a", "Unhealthy=True/FailedComponent")
	w.sweep()
	w.awaitNewJob(job)
	w.awaitPhase("a", v1beta2.Running)
	w.Always(func() string { return sandbox.Differs("resets", "1", fmt.Sprint(w.get("a").Status.Retries)) })
}

// B-7: pods that cannot be listed do not count as gone.
func TestB7FailedListIsNotEmpty(t *testing.T) {
	w := newWorld(t)
	w.running(MakeAppWrapper("a").Job("j", 1), "j", "p")
	w.FailOn(func(call string, _ client.Object) error {
		if call == "list PodList" {
			return errors.New("no list today")
		}
		return nil
	})
	w.suspend("a", true)
	w.awaitPhase("a", v1beta2.Suspending)
	w.sweep()
	w.Always(func() string {
		return sandbox.Differs("quota", "QuotaReserved=True/Resuming", sandbox.ConditionOf(w.get("a").Status.Conditions, "QuotaReserved"))
	})
	w.FailOn(nil)
	w.awaitPhase("a", v1beta2.Suspended)
}

// B-10: if an object cannot be deleted for lack of permission, this is reported and the quota is kept. A kind that
// is no longer served has no objects.
func TestB10ForbiddenDeletion(t *testing.T) {
	w := newWorld(t)
	w.running(MakeAppWrapper("a").Job("j", 1).Annotation(v1beta2.ForcefulDeletionGracePeriodKey, "0s"), "j", "p")
	w.FailOn(func(call string, _ client.Object) error {
		switch call {
		case "delete Job", "get Job":
			return apierrors.NewForbidden(schema.GroupResource{Group: "batch", Resource: "jobs"}, "j", errors.New("not you"))
		}
		return nil
	})
	w.suspend("a", true)
	w.sweep()
	w.awaitCondition("a", "DeletingResources=True/DeletionInitiated")
	w.Eventually(func() string {
		if m := w.message("a", "DeletingResources"); !strings.Contains(m, "Job j (the controller is not allowed to delete it)") {
			return "the message is " + m
		}
		return ""
	})
	if got := sandbox.ConditionOf(w.get("a").Status.Conditions, "QuotaReserved"); got != "QuotaReserved=True/Resuming" {
		t.Error(got)
	}
	w.FailOn(nil)
	w.awaitPhase("a", v1beta2.Suspended)
}

// object decodes a manifest into an object in the test's namespace.
func (w *world) object(manifest string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	w.OK(yaml.Unmarshal([]byte(manifest), &o.Object))
	o.SetNamespace(w.Namespace)
	return o
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func gadget(name string) string {
	return `{apiVersion: test.holdfast.dev/v1, kind: Gadget, metadata: {name: ` + name + `}, spec: {template: {spec: {containers: [{name: a, image: b}]}}}}`
}

// B-10: the CRD of a wrapped kind is deleted while a workload has an object of that kind, and the controller is
// restarted.
func TestB10RemovedKind(t *testing.T) {
	w := newWorld(t)
	w.create(MakeAppWrapper("a").Component(gadget("g"), v1beta2.AppWrapperPodSet{Path: "template.spec.template"}))
	w.awaitPhase("a", v1beta2.Running)
	w.Stop()
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	crd.SetName("gadgets.test.holdfast.dev")
	w.OK(w.Get(w.Context(), client.ObjectKeyFromObject(crd), crd))
	retryOnConflict := &unstructured.Unstructured{Object: map[string]any{"spec": crd.Object["spec"]}}
	retryOnConflict.SetGroupVersionKind(crd.GroupVersionKind())
	retryOnConflict.SetName(crd.GetName())
	t.Cleanup(func() { // in case the tests run more than once
		if err := w.Create(context.Background(), retryOnConflict); err != nil {
			t.Error(err)
		}
		sandbox.Eventually(t, func() string { return text(w.Create(context.Background(), w.object(gadget("probe")))) })
	})
	w.OK(w.Delete(w.Context(), crd))
	w.Eventually(func() string {
		if err := w.Get(w.Context(), client.ObjectKeyFromObject(crd), crd); !apierrors.IsNotFound(err) {
			return "the definition still exists"
		}
		return ""
	})
	w.start()
	w.awaitPhase("a", v1beta2.Failed)
	w.awaitCondition("a", "Unhealthy=True/MissingComponent")
	w.awaitCondition("a", "QuotaReserved=False/Failed")
}

// The state of an object of an unknown kind is determined by its pods.
func TestUnknownKind(t *testing.T) {
	w := newWorld(t)
	w.create(MakeAppWrapper("a").Component(strings.ReplaceAll(gadget("g"), "Gadget", "Widget"), v1beta2.AppWrapperPodSet{Path: "template.spec.template"}))
	w.awaitPhase("a", v1beta2.Running)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: w.Namespace, Labels: map[string]string{v1beta2.AppWrapperLabel: "a", v1beta2.ComponentLabel: "0"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "b"}}}}
	w.OK(w.Create(w.Context(), pod))
	w.podPhase(pod, corev1.PodRunning)
	w.awaitCondition("a", "PodsReady=True/SufficientPodsReady")
	w.podPhase(pod, corev1.PodSucceeded)
	w.awaitPhase("a", v1beta2.Succeeded)
}

// B-11, B-12: a crash between the creation and the status write leaves one object, which is found again.
func TestB11CrashAfterCreate(t *testing.T) {
	w := newWorld(t)
	var created atomic.Bool
	w.FailOn(func(call string, _ client.Object) error {
		if call == "create Job" {
			created.Store(true)
			return nil
		}
		if created.Load() && strings.HasPrefix(call, "patch status") {
			return sandbox.ErrCrash
		}
		return nil
	})
	w.create(MakeAppWrapper("a").Component(`{apiVersion: batch/v1, kind: Job, metadata: {generateName: j-}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}`))
	w.Eventually(func() string {
		if !created.Load() {
			return "the Job is not created"
		}
		return ""
	})
	w.Stop()
	w.FailOn(nil)
	w.start()
	w.awaitPhase("a", v1beta2.Running)
	var jobs batchv1.JobList
	w.OK(w.List(w.Context(), &jobs, client.InNamespace(w.Namespace)))
	if len(jobs.Items) != 1 || jobs.Items[0].Name != w.get("a").Status.ComponentStatus[0].Name {
		t.Errorf("%d Jobs, status %+v", len(jobs.Items), w.get("a").Status.ComponentStatus)
	}
}

// B-13: an object with the same name but another controller is not adopted. If such an object is being deleted, the
// controller waits until it is gone.
func TestB13ForeignObjects(t *testing.T) {
	w := newWorld(t)
	foreign := func(name string, owners ...metav1.OwnerReference) *batchv1.Job {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.Namespace, OwnerReferences: owners},
			Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: "Never", Containers: []corev1.Container{{Name: "a", Image: "b"}}}}}}
		w.OK(w.Create(w.Context(), job))
		return job
	}
	foreign("j")
	w.create(MakeAppWrapper("a").Job("j", 1))
	w.awaitPhase("a", v1beta2.Failed)
	w.awaitCondition("a", "Unhealthy=True/CreateFailed")

	earlier := metav1.OwnerReference{APIVersion: v1beta2.GroupVersion.String(), Kind: v1beta2.Kind, Name: "b", UID: "another", Controller: new(true)}
	old := foreign("k", earlier)
	w.create(MakeAppWrapper("b").Job("k", 1))
	w.Always(func() string {
		if p := w.get("b").Status.Phase; p == v1beta2.Running || p == v1beta2.Failed {
			return "the phase is " + string(p)
		}
		return ""
	})
	w.OK(w.Delete(w.Context(), old, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	w.awaitPhase("b", v1beta2.Running)
	if job := w.awaitNewJob(old); !metav1.IsControlledBy(job, w.get("b")) {
		t.Errorf("owners %v", job.OwnerReferences)
	}
}

// B-16: patches contain only what has changed, and never the spec.
func TestB16PatchesAreSmall(t *testing.T) {
	w := newWorld(t)
	w.running(MakeAppWrapper("a").Job("j", 1), "j", "p")
	calls := w.Calls()
	patches := 0
	for _, call := range calls {
		if data, isPatch := strings.CutPrefix(call, "patched "); isPatch {
			patches++
			if strings.Contains(data, `"spec"`) || !strings.Contains(data, `"resourceVersion"`) {
				t.Errorf("patch %s", data)
			}
		}
	}
	if patches == 0 {
		t.Errorf("no patch among %v", calls)
	}
	before := len(w.Calls())
	w.Always(func() string {
		if n := len(w.Calls()); n > before {
			return fmt.Sprintf("API calls although nothing has changed: %v", w.Calls()[before:])
		}
		return ""
	})
}

func (w *world) node(name string, labels map[string]string) *corev1.Node {
	w.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-", Labels: labels}}
	w.OK(w.Create(w.Context(), node))
	w.Cleanup(func() { _ = w.Delete(context.Background(), node) })
	return node
}

// onNode creates a pod of the Job that runs on a node.
func (w *world) onNode(job *batchv1.Job, name, node string) {
	w.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.Namespace, Labels: job.Spec.Template.Labels}, Spec: *job.Spec.Template.Spec.DeepCopy()}
	pod.Spec.NodeName, pod.Spec.TerminationGracePeriodSeconds = node, new(int64(0))
	w.OK(w.Create(w.Context(), pod))
	w.podPhase(pod, corev1.PodRunning)
}

const autopilot = "autopilot.ibm.com/gpuhealth"

// A node is marked as bad. The workload leaves it without using up its retry budget, and its next pods avoid the
// node by name.
func TestEvacuation(t *testing.T) {
	w := newWorld(t)
	node := w.node("bad", map[string]string{autopilot: "PASS"})
	w.create(MakeAppWrapper("a").GPUJob("j"))
	job := w.job("j")
	w.onNode(job, "p", node.Name)
	w.awaitCondition("a", "PodsReady=True/SufficientPodsReady")
	begin := time.Now()
	node.Labels[autopilot] = "EVICT"
	w.OK(w.Update(w.Context(), node))
	w.Eventually(func() string { return sandbox.Differs("evacuations", "1", fmt.Sprint(w.get("a").Status.Evacuations)) })
	t.Logf("decided after %s", time.Since(begin).Round(time.Millisecond))
	w.sweep()
	next := w.awaitNewJob(job)
	term := next.Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0]
	if len(term.MatchFields) != 1 || term.MatchFields[0].Values[0] != node.Name || term.MatchExpressions[0].Key != autopilot {
		t.Errorf("affinity %+v", term)
	}
	if aw := w.get("a"); aw.Status.Retries != 0 || aw.Status.Attempts[0].Nodes[0] != node.Name || !aw.Status.Attempts[0].Evacuation {
		t.Errorf("status %+v", aw.Status)
	}
}

// B-9: incorrect labels on all nodes do not reset all workloads at the same time.
func TestB9EvacuationsAreLimited(t *testing.T) {
	w := newWorld(t, func(c *settings.AppWrapper) { c.NodeHealth.MaxSimultaneousEvacuations = 1 })
	node := w.node("bad", nil)
	for _, name := range []string{"a", "b"} {
		w.create(MakeAppWrapper(name).GPUJob(name))
		w.onNode(w.job(name), name, node.Name)
		w.awaitCondition(name, "PodsReady=True/SufficientPodsReady")
	}
	node.Labels = map[string]string{autopilot: "EVICT"}
	w.OK(w.Update(w.Context(), node))
	evacuated := func() int32 { return w.get("a").Status.Evacuations + w.get("b").Status.Evacuations }
	w.Eventually(func() string { return sandbox.Differs("evacuations", "1", fmt.Sprint(evacuated())) })
	w.Always(func() string { return sandbox.Differs("evacuations", "1", fmt.Sprint(evacuated())) })
	w.Eventually(func() string {
		for _, name := range []string{"a", "b"} {
			if strings.Contains(w.message(name, "Unhealthy"), "other workloads are being evacuated: 1") {
				return ""
			}
		}
		return "no condition reports that an evacuation is waiting"
	})
}

// B-17: Kueue would place a pod that has a topology request on the same node again.
func TestB17TopologyPlacementIsLeftToKueue(t *testing.T) {
	w := newWorld(t)
	node := w.node("bad", map[string]string{autopilot: "EVICT"})
	w.create(MakeAppWrapper("a").GPUJob("j").Change(func(aw *v1beta2.AppWrapper) {
		aw.Spec.Components[0].PodSetInfos = []v1beta2.AppWrapperPodSetInfo{{SchedulingGates: []corev1.PodSchedulingGate{{Name: topologyGate}}}}
	}))
	job := w.job("j")
	job.Spec.Template.Spec.SchedulingGates = nil // Kueue has removed it
	w.onNode(job, "p", node.Name)
	w.awaitCondition("a", "Unhealthy=True/AutopilotNoExecute")
	w.Always(func() string { return sandbox.Differs("phase", "Running", string(w.get("a").Status.Phase)) })
}

// B-23: the controller also finds nodes that were marked before it started.
func TestB23NodesMarkedEarlier(t *testing.T) {
	w := newWorld(t)
	node := w.node("bad", nil)
	w.create(MakeAppWrapper("a").GPUJob("j"))
	w.onNode(w.job("j"), "p", node.Name)
	w.awaitCondition("a", "PodsReady=True/SufficientPodsReady")
	w.Stop()
	node.Labels = map[string]string{autopilot: "EVICT"}
	w.OK(w.Update(w.Context(), node))
	w.start()
	w.Eventually(func() string { return sandbox.Differs("evacuations", "1", fmt.Sprint(w.get("a").Status.Evacuations)) })
}

// B-18: the cache contains only the pods of AppWrappers, and only the fields that are read.
func TestB18CacheSelectors(t *testing.T) {
	for object, by := range CacheOptions().ByObject {
		if _, isPod := object.(*corev1.Pod); isPod && (by.Label == nil || by.Label.Empty()) {
			t.Error("all pods are cached")
		}
	}
	full := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: map[string]string{"a": "b"}}, Spec: corev1.PodSpec{NodeName: "n", Volumes: []corev1.Volume{{Name: "v"}}}}
	full.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}}}}
	pod := stripPod(full)
	if pod.Spec.NodeName != "n" || pod.Spec.Volumes != nil || pod.Annotations != nil || !maps.Equal(pods.Requests(&pod.Spec), pods.Requests(&full.Spec)) {
		t.Errorf("%+v", pod)
	}
}

// B-22: the controller handles a status that does not match the components, and an invalid template.
func TestB22StatusWithWrongComponentCount(t *testing.T) {
	w := newWorld(t)
	w.create(MakeAppWrapper("a").Job("j", 1).Phase(v1beta2.Suspended).Change(func(aw *v1beta2.AppWrapper) {
		aw.Status.ComponentStatus = []v1beta2.AppWrapperComponentStatus{{PodSets: []v1beta2.AppWrapperPodSet{}}, {PodSets: []v1beta2.AppWrapperPodSet{}}}
	}))
	w.awaitPhase("a", v1beta2.Running)
	w.create(MakeAppWrapper("b").Component(`{apiVersion: batch/v1, kind: Job, metadata: {name: k}, spec: {}}`))
	w.awaitPhase("b", v1beta2.Failed)
}

// Without the webhook, components can be added or removed. The objects that exist are removed before the quota is released.
func TestComponentsThatWereCreatedAreRemoved(t *testing.T) {
	for name, components := range map[string][]v1beta2.AppWrapperComponent{
		"more": MakeAppWrapper("x").Service("s").Job("j", 1).Spec.Components,
		"none": {},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.running(MakeAppWrapper("a").Job("j", 1), "j", "p")
			w.change("a", func(aw *v1beta2.AppWrapper) { aw.Spec.Components = components })
			w.suspend("a", true)
			w.sweep()
			w.awaitPhase("a", v1beta2.Suspended)
			w.hasNoJobs()
		})
	}
}

// B-24: the role grants access to the events API that the controller uses. The controller does not need the older events
// API.
func TestB24RoleAllowsEvents(t *testing.T) {
	role, err := os.ReadFile("../../../../charts/appwrapper-controller/files/rbac/manager.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range strings.Split(string(role), "- apiGroups:") {
		if !strings.Contains(rule, "- events\n") {
			continue
		}
		for _, part := range []string{"- events.k8s.io\n", "- create\n", "- patch\n"} {
			if !strings.Contains(rule, part) {
				t.Errorf("the rule for events lacks %q: %s", part, rule)
			}
		}
		return
	}
	t.Error("there is no rule for events")
}

// B-25: the number of resets has the field name and printer column that other programs expect.
func TestB25CRDHasResettingCount(t *testing.T) {
	crd, err := os.ReadFile("../../../../charts/appwrapper-controller/files/crds/workload.codeflare.dev_appwrappers.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"resettingCount:", "jsonPath: .status.resettingCount"} {
		if !strings.Contains(string(crd), text) {
			t.Errorf("the definition does not have %s", text)
		}
	}
}

// A component that announces its own recovery is left alone until its deadline.
func TestWaitsForRecoveringAnnotation(t *testing.T) {
	w := newWorld(t)
	job := w.running(MakeAppWrapper("a").Job("j", 1).Annotation(v1beta2.FailureGracePeriodKey, "0s"), "j", "p")
	state := recovering.State{Level: recovering.LevelGroup, Reason: "in place", Deadline: time.Now().Add(time.Hour)}
	metav1.SetMetaDataAnnotation(&job.ObjectMeta, recovering.Annotation, state.Format())
	w.OK(w.Update(w.Context(), job))
	w.podPhase(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: w.Namespace}}, corev1.PodFailed, 1)
	w.awaitCondition("a", "Unhealthy=False/RecoveringBelow")
	w.Always(func() string { return sandbox.Differs("phase", "Running", string(w.get("a").Status.Phase)) })
	if m := w.message("a", "Unhealthy"); !strings.Contains(m, "recovering it until") {
		t.Error(m)
	}
	job = w.job("j")
	delete(job.Annotations, recovering.Annotation)
	w.OK(w.Update(w.Context(), job))
	w.awaitPhase("a", v1beta2.Resetting)
}

// Whatever phase the upstream controller left an object in, our controller continues from there.
func TestTakeOver(t *testing.T) {
	w := newWorld(t)
	ago := metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))
	left := func(name string, phase v1beta2.AppWrapperPhase, conditions ...string) *v1beta2.AppWrapper {
		return w.create(MakeAppWrapper(name).Job(name, 1).Phase(phase).Change(func(aw *v1beta2.AppWrapper) {
			aw.Finalizers = []string{v1beta2.Finalizer}
			aw.Status.ComponentStatus = []v1beta2.AppWrapperComponentStatus{{
				Name: name, Kind: "Job", APIVersion: "batch/v1", PodSets: []v1beta2.AppWrapperPodSet{{Path: "template.spec.template", Replicas: new(int32(1))}},
				Conditions: []metav1.Condition{{Type: "ResourcesDeployed", Status: "True", Reason: v1beta2.ReasonComponentCreatedSuccessfully, LastTransitionTime: ago}},
			}}
			if phase == v1beta2.Resuming { // announced, but not created
				aw.Status.ComponentStatus[0].Conditions[0].Status = "Unknown"
			}
			for _, c := range conditions {
				kind, status, _ := strings.Cut(c, "=")
				aw.Status.Conditions = append(aw.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: "Left", LastTransitionTime: ago})
			}
		}))
	}
	w.Stop()
	recoveringState := left("resetting", v1beta2.Resetting, "QuotaReserved=True", "ResourcesDeployed=False", "Unhealthy=True")
	left("suspending", v1beta2.Suspending, "QuotaReserved=True", "ResourcesDeployed=True", "DeletingResources=True")
	left("failed", v1beta2.Failed, "QuotaReserved=True", "ResourcesDeployed=True", "Unhealthy=True")
	left("succeeded", v1beta2.Succeeded, "QuotaReserved=False", "ResourcesDeployed=True")
	running := left("running", v1beta2.Running, "QuotaReserved=True", "ResourcesDeployed=True", "PodsReady=True")
	left("resuming", v1beta2.Resuming, "QuotaReserved=True", "ResourcesDeployed=True")
	left("lost", v1beta2.Running, "QuotaReserved=True", "ResourcesDeployed=True", "PodsReady=True")
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Name: "running", Namespace: w.Namespace, Labels: map[string]string{v1beta2.AppWrapperLabel: "running"},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(running, v1beta2.GroupVersion.WithKind(v1beta2.Kind))},
	}, Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1beta2.AppWrapperLabel: "running"}},
		Spec:       corev1.PodSpec{RestartPolicy: "Never", Containers: []corev1.Container{{Name: "worker", Image: "b"}}}}}}
	w.OK(w.Create(w.Context(), job))
	w.pods(job, corev1.PodRunning, "of-the-published")
	w.start()

	w.awaitPhase("resetting", v1beta2.Running) // its pause has ended
	w.Eventually(func() string {               // suspend is not set, so it resumes immediately
		return sandbox.Differs("phase of suspending", "Running", string(w.get("suspending").Status.Phase))
	})
	w.awaitCondition("failed", "ResourcesDeployed=False/Failed")
	w.awaitPhase("resuming", v1beta2.Running)
	w.awaitPhase("lost", v1beta2.Failed)
	w.awaitCondition("running", "PodsReady=True/SufficientPodsReady")
	w.Always(func() string {
		if p := w.get("running").Status.Phase; p != v1beta2.Running {
			return "running is " + string(p)
		}
		return sandbox.Differs("phase", "Succeeded", string(w.get("succeeded").Status.Phase))
	})
	w.Always(func() string {
		return sandbox.Differs("phases", "Running Running", string(w.get("resetting").Status.Phase+" "+w.get("resuming").Status.Phase))
	})
	if aw := w.get("resetting"); aw.UID != recoveringState.UID || len(aw.Status.Attempts) != 1 {
		t.Errorf("attempts %+v", aw.Status.Attempts)
	}
	w.finishJob(w.job("running"), batchv1.JobComplete)
	w.awaitPhase("running", v1beta2.Succeeded)
}

// Each event is sent once, and says what happened and what happens next. The warning about annotations is sent once per
// attempt.
func TestEventsAreSentOnce(t *testing.T) {
	w := newWorld(t)
	job := w.running(MakeAppWrapper("a").Job("j", 1).Annotation(v1beta2.WarmupGracePeriodKey, "five"), "j", "p")
	w.finishJob(job, batchv1.JobFailed)
	w.awaitCondition("a", "Unhealthy=True/FailedComponent")
	w.sweep()
	w.awaitNewJob(job)
	w.awaitPhase("a", v1beta2.Running)
	events := w.Events()
	for want, times := range map[string]int{
		"Warning FailedComponent/Resetting: Job j has failed: played: all components are removed, and created again after 100ms; reset 1 of 3": 1,
		"Warning InvalidAnnotation/": 2,
	} {
		if n := len(slices.DeleteFunc(slices.Clone(events), func(e string) bool { return !strings.HasPrefix(e, want) })); n != times {
			t.Errorf("%d events begin with %q, want %d: %s", n, want, times, strings.Join(events, "\n"))
		}
	}
}

// If the controller lacks the permission to create a kind, it retries with back-off, not on each event, until the
// admission grace period ends. The removal does not wait for objects that were never created.
func TestForbiddenCreationFails(t *testing.T) {
	w := newWorld(t)
	var created atomic.Int32
	w.FailOn(func(call string, _ client.Object) error {
		if call == "create Job" {
			created.Add(1)
		}
		if strings.HasSuffix(call, " Job") {
			return apierrors.NewForbidden(schema.GroupResource{Group: "batch", Resource: "jobs"}, "j", errors.New("not you"))
		}
		return nil
	})
	w.create(MakeAppWrapper("a").Job("j", 1).Annotation(v1beta2.AdmissionGracePeriodKey, "3s").Annotation(v1beta2.RetryLimitKey, "0"))
	w.awaitPhase("a", v1beta2.Failed)
	w.awaitCondition("a", "QuotaReserved=False/Failed")
	if n := created.Load(); n < 1 || n > 8 {
		t.Errorf("%d attempts to create the Job within three seconds", n)
	}
}

// If a deletion fails, the grace period of the removal still runs, and the reason is reported.
func TestFailedDeletionDoesNotStopTheClock(t *testing.T) {
	w := newWorld(t)
	w.running(MakeAppWrapper("a").Job("j", 1), "j", "p")
	w.FailOn(func(call string, _ client.Object) error {
		if call == "delete Job" {
			return apierrors.NewBadRequest("a policy says no")
		}
		return nil
	})
	w.suspend("a", true)
	w.Eventually(func() string {
		if m := w.message("a", "DeletingResources"); !strings.Contains(m, "a policy says no") {
			return "the message is " + m
		}
		return ""
	})
	w.FailOn(nil)
	w.sweep()
	w.awaitPhase("a", v1beta2.Suspended)
}

//go:build envtest

package published

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	theirs "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	applied "sigs.k8s.io/jobset/client-go/applyconfiguration/jobset/v1alpha2"
	"sigs.k8s.io/jobset/client-go/informers/externalversions"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/app"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
)

// everything returns a JobSet that uses every part of the upstream spec.
func everything() *JobSet {
	return withClaim().Entry("lead", 1, DependsOn("workers", v1alpha2.DependencyReady)).MaxRestarts(3).Strategy(v1alpha2.BlockingRecreate).
		Rule(v1alpha2.FailurePolicyRule{Name: "r", Action: v1alpha2.RestartJob, OnJobFailureReasons: []string{"DeadlineExceeded"},
			OnJobFailureMessagePatterns: []string{"x.*"}, TargetReplicatedJobs: []string{"workers"}}).
		Success(v1alpha2.OperatorAny, "lead").Suspend(true).Change(func(js *v1alpha2.JobSet) {
		js.Spec.Coordinator = &v1alpha2.Coordinator{ReplicatedJob: "lead"}
		js.Spec.TTLSecondsAfterFinished = ptr.To[int32](600)
		js.Spec.ManagedBy = ptr.To(v1alpha2.JobSetControllerName)
	})
}

func TestTypedClientCreatesReadsAndUpdates(t *testing.T) {
	c := newCluster(t)
	api := c.jobSets.JobsetV1alpha2().JobSets(c.namespace)
	sent := typed(t, everything())
	created, err := api.Create(t.Context(), sent, metav1.CreateOptions{FieldValidation: "Strict"})
	c.ok(err)
	if diff := cmp.Diff(sent.Spec, created.Spec); diff != "" {
		t.Errorf("the spec that came back differs: %s", diff)
	}
	created.Spec.Suspend = ptr.To(false)
	updated, err := api.Update(t.Context(), created, metav1.UpdateOptions{FieldValidation: "Strict"})
	c.ok(err)
	if diff := cmp.Diff(created.Spec, updated.Spec); diff != "" {
		t.Error(diff)
	}
	updated.Status = theirs.JobSetStatus{
		Restarts: 2, RestartsCountTowardsMax: 1, TerminalState: "Failed",
		Conditions: []metav1.Condition{{Type: "Failed", Status: "True", Reason: "ReachedMaxRestarts", LastTransitionTime: metav1.NewTime(time.Unix(1e9, 0))}},
		ReplicatedJobsStatus: []theirs.ReplicatedJobStatus{{Name: "workers", Ready: 1, Succeeded: 2, Failed: 3, Active: 4, Suspended: 5,
			JobRestarts: []int32{1}, JobRestartsCountTowardsMax: []int32{1}}},
		PreviousInPlaceRestartAttempt: ptr.To[int32](1), CurrentInPlaceRestartAttempt: ptr.To[int32](2),
	}
	written, err := api.UpdateStatus(t.Context(), updated, metav1.UpdateOptions{FieldValidation: "Strict"})
	c.ok(err)
	if diff := cmp.Diff(updated.Status, written.Status); diff != "" {
		t.Errorf("status: %s", diff)
	}
	c.ok(api.Delete(t.Context(), "a", metav1.DeleteOptions{}))
}

func TestTypedClientAppliesListsAndWatches(t *testing.T) {
	c := newCluster(t)
	api := c.jobSets.JobsetV1alpha2().JobSets(c.namespace)
	seen := make(chan string, 10)
	factory := externalversions.NewSharedInformerFactoryWithOptions(c.jobSets, 0, externalversions.WithNamespace(c.namespace))
	informer := factory.Jobset().V1alpha2().JobSets().Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(object any) { seen <- object.(*theirs.JobSet).Name }})
	c.ok(err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	factory.Start(ctx.Done())
	js := applied.JobSet("a", c.namespace).WithSpec(applied.JobSetSpec().
		WithSuspend(true).
		WithFailurePolicy(applied.FailurePolicy().WithMaxRestarts(1)).
		WithReplicatedJobs(applied.ReplicatedJob().WithName("workers").WithReplicas(2)))
	text, err := json.Marshal(js)
	c.ok(err)
	// A Job template is a core type, for which this module has no apply configuration.
	var withTemplate map[string]any
	c.ok(json.Unmarshal(text, &withTemplate))
	rjob := withTemplate["spec"].(map[string]any)["replicatedJobs"].([]any)[0].(map[string]any)
	rjob["template"] = typed(t, MakeJobSet("a").Workers(2)).Spec.ReplicatedJobs[0].Template
	text, err = json.Marshal(withTemplate)
	c.ok(err)
	_, err = api.Patch(t.Context(), "a", "application/apply-patch+yaml", text, metav1.PatchOptions{FieldManager: "test", FieldValidation: "Strict"})
	c.ok(err)
	if name := <-seen; name != "a" {
		t.Errorf("watched %s", name)
	}
	list, err := api.List(t.Context(), metav1.ListOptions{})
	c.ok(err)
	if len(list.Items) != 1 || list.Items[0].Spec.ReplicatedJobs[0].Replicas != 2 {
		t.Errorf("listed %+v", list.Items)
	}
}

// Kueue changes JobSets with a merge patch built from typed objects. Fields that its types lack must be kept.
func TestPatchesOfTheTypedClientKeepUnknownFields(t *testing.T) {
	c := newCluster(t)
	scheme := app.NewScheme()
	ours, err := client.New(config, client.Options{Scheme: scheme})
	c.ok(err)
	built := MakeJobSet("a").Entry("fetch", 1).Workers(1).WaitFor(v1alpha2.WaitForSucceeded, "fetch").Suspend(true).MaxRestarts(1).
		Rule(v1alpha2.FailurePolicyRule{Name: "r", Action: v1alpha2.RestartJobSet, MaxRestarts: ptr.To[int32](1)})
	built.JobSet.Namespace, built.UID = c.namespace, ""
	c.ok(ours.Create(t.Context(), built.Obj()))
	want := built.Spec.DeepCopy()

	their, err := client.New(config, client.Options{Scheme: newTheirScheme(t)})
	c.ok(err)
	js := &theirs.JobSet{}
	c.ok(their.Get(t.Context(), client.ObjectKey{Namespace: c.namespace, Name: "a"}, js))
	admitted := js.DeepCopy()
	admitted.Spec.Suspend = ptr.To(false)
	for i := range admitted.Spec.ReplicatedJobs {
		pod := &admitted.Spec.ReplicatedJobs[i].Template.Spec.Template
		pod.Spec.NodeSelector = map[string]string{"flavor": "spot"}
		pod.Spec.Tolerations = []corev1.Toleration{{Key: "spot", Operator: corev1.TolerationOpExists}}
	}
	c.ok(their.Patch(t.Context(), admitted, client.MergeFrom(js)))

	got := &v1alpha2.JobSet{}
	c.ok(ours.Get(t.Context(), client.ObjectKey{Namespace: c.namespace, Name: "a"}, got))
	if diff := cmp.Diff(want.StartupPolicy, got.Spec.StartupPolicy); diff != "" {
		t.Errorf("startupPolicy: %s", diff)
	}
	if diff := cmp.Diff(want.FailurePolicy, got.Spec.FailurePolicy); diff != "" {
		t.Errorf("failurePolicy: %s", diff)
	}
	if got.Spec.ReplicatedJobs[1].Template.Spec.Template.Spec.NodeSelector["flavor"] != "spot" || *got.Spec.Suspend {
		t.Error("the patch was not applied")
	}
}

// The upstream client can read the status that our controller writes.
func TestTypedClientReadsOurStatus(t *testing.T) {
	c := newCluster(t)
	stop := runOurs(t)
	defer stop()
	c.create(MakeJobSet("a").Workers(1).MaxRestarts(1))
	c.awaitJobs("a-workers-0@0")
	c.fail("a-workers-0")
	c.awaitCondition("RestartingJobSet=True/DefaultFailurePolicy")
	if js := c.jobSet(); js.Status.Restarts != 1 || js.Status.RestartsCountTowardsMax != 1 || js.Status.ReplicatedJobsStatus[0].Name != "workers" {
		t.Errorf("status: %+v", js.Status)
	}
}

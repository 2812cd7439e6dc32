package integration

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/features"
	"sigs.k8s.io/kueue/pkg/podset"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/plan"
	. "github.com/holdfast-project/holdfast/elastic-operator/internal/testing/wrappers"
)

func of(e *ElasticJob) *Job { return (*Job)(e.Obj()) }

// index provides the indexed fields for the cache of a fake client.
type index struct{ *fake.ClientBuilder }

func (i index) IndexField(_ context.Context, object client.Object, field string, values client.IndexerFunc) error {
	i.WithIndex(object, field, values)
	return nil
}

// with returns a client for an API server that contains the workloads.
func with(t *testing.T, workloads ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	_ = kueue.AddToScheme(scheme)
	k8s := fake.NewClientBuilder().WithScheme(scheme).WithObjects(workloads...)
	if err := jobframework.SetupWorkloadOwnerIndex(t.Context(), index{k8s}, GVK); err != nil {
		t.Fatal(err)
	}
	return k8s.Build()
}

// podSet returns the pod set of a job with the given workloads.
func podSet(t *testing.T, j *Job, workloads ...client.Object) kueue.PodSet {
	t.Helper()
	sets, err := j.PodSets(t.Context(), with(t, workloads...))
	if err != nil || len(sets) != 1 || sets[0].Name != "worker" {
		t.Fatalf("pod sets %+v (%v)", sets, err)
	}
	return sets[0]
}

func TestMinimumCountOfThePodSet(t *testing.T) {
	if set := podSet(t, of(MakeElasticJob("a").Workers(2, 5, 8))); set.Count != 5 || *set.MinCount != 2 {
		t.Errorf("%d workers, at least %v", set.Count, set.MinCount)
	}
	if set := podSet(t, of(MakeElasticJob("a").Workers(3, 3, 8))); set.Count != 3 || *set.MinCount != 3 {
		t.Errorf("%d workers, at least %v, want all of them", set.Count, set.MinCount)
	}
}

// While the job is running, the pod set has the granted number of workers, even if replicas has changed. Any other number would end the
// admission.
func TestChangeOfReplicasDoesNotEndTheAdmission(t *testing.T) {
	j := of(MakeElasticJob("a").Workers(2, 5, 8).With(func(e *v1alpha1.ElasticJob) { e.Spec.GrantedReplicas = ptr.To(int32(3)) }))
	for _, replicas := range []int32{2, 5, 8} {
		j.Spec.ReplicaSpecs.Worker.Replicas = ptr.To(replicas)
		if set := podSet(t, j); set.Count != 3 || *set.MinCount != 2 {
			t.Errorf("replicas %d: %d workers, at least %d, want the 3 that were granted and 2", replicas, set.Count, *set.MinCount)
		}
	}
	j.Spec.Suspend = true
	if set := podSet(t, j); set.Count != 8 {
		t.Errorf("requests %d workers at the next admission", set.Count)
	}
}

// Kueue deletes a workload that differs from the job, and with it the quota of pods that are still terminating.
func TestStoppedJobKeepsItsWorkloadUntilTheQuotaIsReleased(t *testing.T) {
	j := of(MakeElasticJob("a").Namespace("default").Workers(2, 8, 8).With(func(e *v1alpha1.ElasticJob) { e.UID, e.Spec.Suspend = "now", true }))
	workload := func(owner types.UID, reserved metav1.ConditionStatus) client.Object {
		return &kueue.Workload{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", OwnerReferences: []metav1.OwnerReference{{
				APIVersion: GVK.GroupVersion().String(), Kind: GVK.Kind, Name: "a", UID: owner, Controller: ptr.To(true),
			}}},
			Spec:   kueue.WorkloadSpec{PodSets: []kueue.PodSet{{Name: PodSet, Count: 5}}},
			Status: kueue.WorkloadStatus{Conditions: []metav1.Condition{{Type: kueue.WorkloadQuotaReserved, Status: reserved}}},
		}
	}
	for name, c := range map[string]struct {
		workload client.Object
		want     int32
	}{
		"the workload holds quota":                           {workload("now", metav1.ConditionTrue), 5},
		"the workload has released its quota":                {workload("now", metav1.ConditionFalse), 8},
		"the quota belongs to an earlier job with this name": {workload("before", metav1.ConditionTrue), 8},
	} {
		if set := podSet(t, j, c.workload); set.Count != c.want {
			t.Errorf("%s: %d workers, want %d", name, set.Count, c.want)
		}
	}
}

// readmitted returns a job of eight workers, two of which completed before it was evicted, and the workload that Kueue has admitted again.
func readmitted(change func(*v1alpha1.ElasticJob), asked, least, count int32) (*Job, *kueue.Workload) {
	j := of(MakeElasticJob("a").Namespace("default").Workers(2, 8, 8).With(func(e *v1alpha1.ElasticJob) {
		e.UID, e.Spec.Suspend = "now", true
		e.Status.Indexes, e.Status.CompletedIndexes = "1,3", "1,3"
		change(e)
	}))
	return j, &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", OwnerReferences: []metav1.OwnerReference{{
			APIVersion: GVK.GroupVersion().String(), Kind: GVK.Kind, Name: "a", UID: "now", Controller: ptr.To(true),
		}}},
		Spec: kueue.WorkloadSpec{PodSets: []kueue.PodSet{{Name: PodSet, Count: asked, MinCount: ptr.To(least)}}},
		Status: kueue.WorkloadStatus{
			Conditions: []metav1.Condition{{Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionTrue}},
			Admission:  &kueue.Admission{PodSetAssignments: []kueue.PodSetAssignment{{Name: PodSet, Count: ptr.To(count)}}},
		},
	}
}

// The grant includes completed workers, which Kueue subtracts when it admits a job again. If they were subtracted twice, the job would
// succeed without some of its workers.
func TestCompletedWorkersAreGrantedInAdditionToAdmittedOnes(t *testing.T) {
	for name, c := range map[string]struct {
		change             func(*v1alpha1.ElasticJob)
		asked, least, room int32 // counts of the workload; room is the admitted count
		granted, compared  int32
	}{
		"all others are admitted":             {func(*v1alpha1.ElasticJob) {}, 8, 2, 6, 8, 6},
		"some of the others are admitted":     {func(*v1alpha1.ElasticJob) {}, 8, 2, 2, 4, 2},
		"all workers are required":            {func(e *v1alpha1.ElasticJob) { e.Spec.MinReplicas = ptr.To[int32](8) }, 8, 8, 6, 8, 8},
		"suspended after two completed":       {func(e *v1alpha1.ElasticJob) { e.Status.Indexes = "0-7" }, 8, 2, 8, 8, 8},
		"none completed":                      {func(e *v1alpha1.ElasticJob) { e.Status.CompletedIndexes = "" }, 8, 2, 5, 5, 5},
		"completed after the job was stopped": {func(e *v1alpha1.ElasticJob) { e.Status.Indexes, e.Status.CompletedIndexes = "0-7", "3" }, 8, 2, 7, 8, 7},
	} {
		t.Run(name, func(t *testing.T) {
			j, w := readmitted(c.change, c.asked, c.least, c.room)
			if err := j.RunWithPodSetsInfo(t.Context(), with(t, w), []podset.PodSetInfo{{Name: PodSet, Count: c.room}}); err != nil {
				t.Fatal(err)
			}
			if got := *j.Spec.GrantedReplicas; got != c.granted {
				t.Errorf("granted %d, want %d", got, c.granted)
			}
			if set := podSet(t, j, w); set.Count != c.compared {
				t.Errorf("the pod set has %d, Kueue expects %d", set.Count, c.compared)
			}
			j.Status.Indexes, j.Status.CompletedIndexes = "0-7", "0-3" // two more complete, and their quota is released
			if set := podSet(t, j, w); set.Count != c.compared {
				t.Errorf("the pod set has %d after others have completed, Kueue expects %d", set.Count, c.compared)
			}
		})
	}
}

// If the grant exceeds the admission by more than the number of completed workers, Kueue must stop the job.
func TestGrantThatWasNotAdmittedIsReported(t *testing.T) {
	j, w := readmitted(func(e *v1alpha1.ElasticJob) { e.Spec.Suspend, e.Spec.GrantedReplicas = false, ptr.To[int32](8) }, 8, 2, 3)
	if set := podSet(t, j, w); set.Count != 8 {
		t.Errorf("%d", set.Count)
	}
	// The two workers that have completed were admitted with the others.
	j, w = readmitted(func(e *v1alpha1.ElasticJob) {
		e.Spec.Suspend, e.Spec.GrantedReplicas, e.Spec.MaxReplicas = false, ptr.To[int32](10), ptr.To[int32](10)
	}, 8, 2, 8)
	if set := podSet(t, j, w); set.Count != 10 {
		t.Errorf("%d", set.Count)
	}
}

// Without a minimum, all replicas are needed. A later change to replicas requires another admission.
func TestChangeOfReplicasWithoutAMinimum(t *testing.T) {
	admitted := func(e *v1alpha1.ElasticJob) {
		e.Spec.Suspend, e.Spec.MinReplicas, e.Spec.GrantedReplicas = false, nil, ptr.To[int32](4)
		e.Status.CompletedIndexes = ""
	}
	for _, replicas := range []int32{3, 4, 6, 8} {
		j, w := readmitted(admitted, 4, 4, 4)
		j.Spec.ReplicaSpecs.Worker.Replicas = ptr.To(replicas)
		if set := podSet(t, j, w); set.Count != 4 || *set.MinCount != 4 {
			t.Errorf("replicas %d: %d workers, at least %d, want the 4 that were admitted", replicas, set.Count, *set.MinCount)
		}
	}
}

// Kueue supports workload slices only for its built-in kinds. An AppWrapper holds the quota of its components. A job that holds quota
// itself must release it.
func TestJobsThatKueueIgnores(t *testing.T) {
	wrapped := func(e *v1alpha1.ElasticJob) {
		e.OwnerReferences = []metav1.OwnerReference{{APIVersion: "workload.codeflare.dev/v1beta2", Kind: "AppWrapper", Name: "w", UID: "w", Controller: ptr.To(true)}}
	}
	sliced := func(e *v1alpha1.ElasticJob) { e.Annotations = map[string]string{slicesAnnotation: "true"} }
	for name, c := range map[string]struct {
		change []func(*v1alpha1.ElasticJob)
		want   bool
	}{
		"plain job":                                {nil, false},
		"job with workload slices":                 {[]func(*v1alpha1.ElasticJob){sliced}, true},
		"job with workload slices and quota":       {[]func(*v1alpha1.ElasticJob){sliced, func(e *v1alpha1.ElasticJob) { e.Spec.GrantedReplicas = ptr.To[int32](3) }}, false},
		"deleted job with workload slices":         {[]func(*v1alpha1.ElasticJob){sliced, func(e *v1alpha1.ElasticJob) { e.DeletionTimestamp = ptr.To(metav1.Now()) }}, false},
		"part of an AppWrapper":                    {[]func(*v1alpha1.ElasticJob){wrapped}, true},
		"part of an AppWrapper with its own queue": {[]func(*v1alpha1.ElasticJob){wrapped, func(e *v1alpha1.ElasticJob) { e.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "q"} }}, false},
		"part of an AppWrapper of another group":   {[]func(*v1alpha1.ElasticJob){wrapped, func(e *v1alpha1.ElasticJob) { e.OwnerReferences[0].APIVersion = "example.com/v1" }}, false},
	} {
		e := MakeElasticJob("a").Workers(2, 5, 8)
		for _, change := range c.change {
			e.With(change)
		}
		j := of(e)
		if got := j.Skip(t.Context()); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
		if j.Annotations[slicesAnnotation] != "" && !c.want {
			t.Errorf("%s: the library would treat it as a slice", name)
		}
	}
}

func TestStartAndStop(t *testing.T) {
	j := of(MakeElasticJob("a").Workers(2, 5, 8).With(func(e *v1alpha1.ElasticJob) { e.Spec.Suspend = true }))
	original := podset.FromPodSet(ptr.To(podSet(t, j)))
	info := podset.PodSetInfo{Name: PodSet, Count: 3, NodeSelector: map[string]string{"pool": "a"}, Labels: map[string]string{"kueue.x-k8s.io/podset": "worker"}}
	if err := j.RunWithPodSetsInfo(t.Context(), with(t), []podset.PodSetInfo{info}); err != nil {
		t.Fatal(err)
	}
	template := &j.Spec.ReplicaSpecs.Worker.Template
	if j.IsSuspended() || *j.Spec.GrantedReplicas != 3 || template.Spec.NodeSelector["pool"] != "a" || template.Labels["kueue.x-k8s.io/podset"] != "worker" {
		t.Errorf("started: %+v", j.Spec)
	}
	if *j.Spec.ReplicaSpecs.Worker.Replicas != 5 {
		t.Error("the user's replicas were changed")
	}
	j.Suspend()
	if !j.RestorePodSetsInfo(t.Context(), []podset.PodSetInfo{original}) {
		t.Error("the template was not restored")
	}
	if !j.IsSuspended() || j.Spec.GrantedReplicas != nil || len(template.Spec.NodeSelector) != 0 || len(template.Labels) != 0 {
		t.Errorf("stopped: %+v", j.Spec)
	}
	for _, infos := range [][]podset.PodSetInfo{nil, {info, info}} {
		if err := j.RunWithPodSetsInfo(t.Context(), nil, infos); err == nil || !podset.IsPermanent(err) {
			t.Errorf("%d pod sets: %v", len(infos), err)
		}
		if j.RestorePodSetsInfo(t.Context(), infos) {
			t.Error("restored from a wrong number of pod sets")
		}
	}
}

// The loss of one of many workers must not start a recovery timeout that ends with an eviction.
func TestPodsReadyWithTheMinimum(t *testing.T) {
	for name, tc := range map[string]struct {
		ready              int32
		indexes, completed string
		want               bool
	}{
		"all ready":                         {5, "0-4", "", true},
		"minReplicas ready":                 {2, "0-4", "", true},
		"fewer than minReplicas ready":      {1, "0-4", "", false},
		"one ready, one completed":          {1, "0-4", "3", true},
		"none ready, minReplicas completed": {0, "0-4", "1-3", false},
		"all completed":                     {0, "0-4", "0-4", true},
		"one ready, one completed and removed by scaling down": {1, "0-2", "7", false},
	} {
		t.Run(name, func(t *testing.T) {
			j := of(MakeElasticJob("a").Workers(2, 5, 8))
			j.Status.ReadyReplicas, j.Status.Indexes, j.Status.CompletedIndexes = tc.ready, tc.indexes, tc.completed
			if got := j.PodsReady(t.Context(), nil); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestCompletedWorkersReleaseTheirQuota(t *testing.T) {
	j := of(MakeElasticJob("a").Workers(2, 5, 8))
	if pods, err := j.ReclaimablePods(t.Context(), nil); err != nil || len(pods) != 0 {
		t.Errorf("%v %v", pods, err)
	}
	j.Status.Indexes, j.Status.CompletedIndexes = "0-2", "1-2,7"
	if pods, err := j.ReclaimablePods(t.Context(), nil); err != nil || len(pods) != 1 || pods[0].Name != "worker" || pods[0].Count != 2 {
		t.Errorf("%v %v", pods, err)
	}
}

func TestActive(t *testing.T) {
	for name, tc := range map[string]struct {
		generation int64
		status     v1alpha1.ElasticJobStatus
		want       bool
	}{
		"running":                     {2, v1alpha1.ElasticJobStatus{ObservedGeneration: 2, Replicas: 1, State: v1alpha1.StateRunning}, true},
		"stopped, pods terminating":   {2, v1alpha1.ElasticJobStatus{ObservedGeneration: 2, Replicas: 1, State: v1alpha1.StateSuspended}, true},
		"stopped":                     {2, v1alpha1.ElasticJobStatus{ObservedGeneration: 2, State: v1alpha1.StateSuspended}, false},
		"suspension not observed yet": {3, v1alpha1.ElasticJobStatus{ObservedGeneration: 2, State: v1alpha1.StatePending}, true},
		"new job":                     {1, v1alpha1.ElasticJobStatus{}, false},
		"queued job that was changed": {3, v1alpha1.ElasticJobStatus{ObservedGeneration: 2, State: v1alpha1.StateSuspended}, false},
	} {
		t.Run(name, func(t *testing.T) {
			j := of(MakeElasticJob("a"))
			j.Generation, j.Status = tc.generation, tc.status
			if got := j.IsActive(); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestFinished(t *testing.T) {
	j := of(MakeElasticJob("a"))
	if _, _, finished := j.Finished(t.Context()); finished {
		t.Error("a new job is reported as finished")
	}
	for kind, success := range map[v1alpha1.JobConditionType]bool{v1alpha1.JobSucceeded: true, v1alpha1.JobFailed: false} {
		j.Status.Conditions = []v1alpha1.JobCondition{{Type: kind, Status: metav1.ConditionTrue, Message: "m"}}
		if message, ok, finished := j.Finished(t.Context()); message != "m" || ok != success || !finished {
			t.Errorf("%s: %s %t %t", kind, message, ok, finished)
		}
	}
}

func TestTopologyRequestHasTheWorkerIndex(t *testing.T) {
	j := of(MakeElasticJob("a"))
	j.Spec.ReplicaSpecs.Worker.Template.Annotations = map[string]string{kueue.PodSetRequiredTopologyAnnotation: "rack"}
	request := podSet(t, j).TopologyRequest
	if request == nil || *request.Required != "rack" || *request.PodIndexLabel != "replica-index" {
		t.Errorf("%+v", request)
	}
}

// The feature gate has the same value as in Kueue's manager. If the manager drops topology requests, the workload must not contain one.
func TestNoTopologyRequestWithoutItsFeatureGate(t *testing.T) {
	features.SetFeatureGateDuringTest(t, features.TopologyAwareScheduling, false)
	j := of(MakeElasticJob("a"))
	j.Spec.ReplicaSpecs.Worker.Template.Annotations = map[string]string{kueue.PodSetRequiredTopologyAnnotation: "rack"}
	if request := podSet(t, j).TopologyRequest; request != nil {
		t.Errorf("%+v", request)
	}
}

// Kueue admits the pod template. Other fields are added when a pod is created, and do not change the job.
func TestTemplateOfTheWorkloadIsThatOfTheJob(t *testing.T) {
	j := of(MakeElasticJob("a"))
	before := podSet(t, j).Template
	pod := plan.WorkerPod(j.job(), 1, 0)
	if len(pod.Spec.Containers[0].Env) == 0 || len(pod.Labels) == 0 {
		t.Fatal("the operator adds nothing to a pod")
	}
	after := podSet(t, j).Template
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(j.Spec.ReplicaSpecs.Worker.Template.PodTemplateSpec, after); diff != "" {
		t.Error(diff)
	}
}

// Kueue stops retrying only after a permanent error. It would retry any other error forever.
func TestConflictWithTheTemplateIsPermanent(t *testing.T) {
	for name, info := range map[string]podset.PodSetInfo{
		"a node selector": {NodeSelector: map[string]string{"pool": "b"}},
		"a label":         {Labels: map[string]string{"team": "b"}},
		"an annotation":   {Annotations: map[string]string{"note": "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			j := of(MakeElasticJob("a"))
			template := &j.Spec.ReplicaSpecs.Worker.Template
			template.Labels, template.Annotations = map[string]string{"team": "a"}, map[string]string{"note": "a"}
			template.Spec.NodeSelector = map[string]string{"pool": "a"}
			info.Name, info.Count = PodSet, 1
			if err := j.RunWithPodSetsInfo(t.Context(), with(t), []podset.PodSetInfo{info}); !podset.IsPermanent(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

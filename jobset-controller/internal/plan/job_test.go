package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

func build(js *JobSet, rjob, index int) *batchv1.Job {
	return NewBuilder(js.Obj(), mustEpoch(js)).Job(rjob, index)
}

func mustEpoch(js *JobSet) epoch.Record {
	current, err := epoch.Of(js.Annotations)
	if err != nil {
		panic(err)
	}
	return current
}

// threeEntries returns a JobSet with 2 + 3 + 1 Jobs. The first and the last replicatedJob share a group.
func threeEntries() *JobSet {
	inGroup := func(name string) func(*v1alpha2.ReplicatedJob) {
		return func(e *v1alpha2.ReplicatedJob) { e.GroupName = name }
	}
	return MakeJobSet("js").Entry("a", 2, inGroup("g")).Entry("b", 3, inGroup("")).Entry("c", 1, inGroup("g"))
}

func TestIdentityKeysOnJobAndPods(t *testing.T) {
	js := threeEntries().Restarts(4, 2).Annotation(epoch.Annotation, `{"epoch":7,"recreate":6}`)
	js.Spec.Coordinator = &v1alpha2.Coordinator{ReplicatedJob: "b", JobIndex: 2, PodIndex: 1}
	want := map[string]string{
		"jobset.sigs.k8s.io/jobset-name":            "js",
		"jobset.sigs.k8s.io/jobset-uid":             "js-uid",
		"jobset.sigs.k8s.io/replicatedjob-name":     "c",
		"jobset.sigs.k8s.io/replicatedjob-replicas": "1",
		"jobset.sigs.k8s.io/global-replicas":        "6",
		"jobset.sigs.k8s.io/job-index":              "0",
		"jobset.sigs.k8s.io/job-global-index":       "5",
		"jobset.sigs.k8s.io/job-key":                "30bacb0617f87edb9ca9fe4f9b510d107af592bb",
		"jobset.sigs.k8s.io/restart-attempt":        "4",
		"jobset.sigs.k8s.io/group-name":             "g",
		"jobset.sigs.k8s.io/group-replicas":         "3",
		"jobset.sigs.k8s.io/job-group-index":        "2",
		"jobset.sigs.k8s.io/coordinator":            "js-b-2-1.js",
	}
	job := build(js, 2, 0)
	annotations := merged(want, map[string]string{"holdfast.dev/epoch": "7"})
	for name, c := range map[string]struct{ want, got map[string]string }{
		"labels of the Job":       {want, job.Labels},
		"labels of its pods":      {want, job.Spec.Template.Labels},
		"annotations of the Job":  {annotations, job.Annotations},
		"annotations of its pods": {annotations, job.Spec.Template.Annotations},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestJobIndexes(t *testing.T) {
	type numbers struct{ Name, Global, Group, GroupReplicas string }
	js := threeEntries()
	var got []numbers
	for rjob, replicas := range []int{2, 3, 1} {
		for index := range replicas {
			l := build(js, rjob, index).Labels
			got = append(got, numbers{l[v1alpha2.GroupNameKey], l[v1alpha2.JobGlobalIndexKey], l[v1alpha2.JobGroupIndexKey], l[v1alpha2.GroupReplicasKey]})
		}
	}
	want := []numbers{{"g", "0", "0", "3"}, {"g", "1", "1", "3"},
		{"default", "2", "0", "3"}, {"default", "3", "1", "3"}, {"default", "4", "2", "3"}, {"g", "5", "2", "3"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestJob(t *testing.T) {
	type shape struct {
		Name, Subdomain string
		Suspend         bool
		Mode            batchv1.CompletionMode
		Restart         corev1.RestartPolicy
	}
	usual := shape{Name: "js-workers-0", Subdomain: "js", Mode: batchv1.IndexedCompletion, Restart: corev1.RestartPolicyOnFailure}
	cases := map[string]struct {
		change func(*v1alpha2.JobSet)
		want   func(*shape)
	}{
		"defaults are filled in without a webhook": {},
		"a suspended JobSet creates suspended Jobs": {
			change: func(js *v1alpha2.JobSet) { js.Spec.Suspend = ptr.To(true) },
			want:   func(s *shape) { s.Suspend = true },
		},
		"suspend of the template is ignored": {
			change: func(js *v1alpha2.JobSet) { js.Spec.ReplicatedJobs[0].Template.Spec.Suspend = ptr.To(true) },
		},
		"completion mode and restart policy of the template are kept": {
			change: func(js *v1alpha2.JobSet) {
				spec := &js.Spec.ReplicatedJobs[0].Template.Spec
				spec.CompletionMode = ptr.To(batchv1.NonIndexedCompletion)
				spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
			},
			want: func(s *shape) { s.Mode, s.Restart = batchv1.NonIndexedCompletion, corev1.RestartPolicyNever },
		},
		"the subdomain of the JobSet overrides that of the template": {
			change: func(js *v1alpha2.JobSet) {
				js.Spec.Network = &v1alpha2.Network{Subdomain: "mine"}
				js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Subdomain = "theirs"
			},
			want: func(s *shape) { s.Subdomain = "mine" },
		},
		"without DNS names the subdomain of the template is kept": {
			change: func(js *v1alpha2.JobSet) {
				js.Spec.Network = &v1alpha2.Network{EnableDNSHostnames: ptr.To(false)}
				js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Subdomain = "theirs"
			},
			want: func(s *shape) { s.Subdomain = "theirs" },
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			js := MakeJobSet("js").Workers(1)
			want := usual
			if c.change != nil {
				c.change(js.Obj())
			}
			if c.want != nil {
				c.want(&want)
			}
			job := build(js, 0, 0)
			pod := job.Spec.Template.Spec
			got := shape{job.Name, pod.Subdomain, *job.Spec.Suspend, *job.Spec.CompletionMode, pod.RestartPolicy}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestJobIsOwnedByItsJobSet(t *testing.T) {
	want := []metav1.OwnerReference{{APIVersion: "jobset.x-k8s.io/v1alpha2", Kind: "JobSet", Name: "js", UID: "js-uid",
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true)}}
	if diff := cmp.Diff(want, build(MakeJobSet("js").Workers(1), 0, 0).OwnerReferences); diff != "" {
		t.Error(diff)
	}
}

func TestTemplateKeysCannotOverrideIdentityKeys(t *testing.T) {
	js := MakeJobSet("js").Entry("w", 1, func(e *v1alpha2.ReplicatedJob) {
		e.Template.Labels = map[string]string{"team": "a", v1alpha2.JobSetNameKey: "forged"}
		e.Template.Annotations = map[string]string{"note": "b", v1alpha2.JobSetUIDKey: "forged"}
		e.Template.Spec.Template.Labels = map[string]string{"pod": "c", v1alpha2.JobSetNameKey: "forged"}
	})
	job := build(js, 0, 0)
	for key, got := range map[string]string{
		"a": job.Labels["team"], "b": job.Annotations["note"], "c": job.Spec.Template.Labels["pod"],
		"js": job.Labels[v1alpha2.JobSetNameKey], "js-uid": job.Annotations[v1alpha2.JobSetUIDKey],
	} {
		if got != key {
			t.Errorf("got %q, want %q", got, key)
		}
	}
	if job.Spec.Template.Labels[v1alpha2.JobSetNameKey] != "js" {
		t.Error("the pods carry a forged name")
	}
}

func TestBuildingDoesNotChangeTheJobSet(t *testing.T) {
	js := threeEntries().Annotation(v1alpha2.ExclusiveKey, "rack").Annotation(v1alpha2.NodeSelectorStrategyKey, "true")
	js.Spec.ReplicatedJobs[0].Template.Spec.Template.Labels = map[string]string{"x": "y"}
	before := js.DeepCopy()
	job := build(js, 0, 1)
	job.Spec.Template.Spec.Containers[0].Image = "as the API server answers"
	*job.Spec.Parallelism = 9
	if diff := cmp.Diff(before, js.Obj()); diff != "" {
		t.Error(diff)
	}
}

func TestPlacement(t *testing.T) {
	onTemplate := func(e *v1alpha2.ReplicatedJob) {
		e.Template.Annotations = map[string]string{v1alpha2.ExclusiveKey: "zone"}
	}
	cases := map[string]struct {
		jobSet   *JobSet
		topology string
		selector map[string]string
	}{
		"nothing is requested": {jobSet: MakeJobSet("js").Entry("w", 1)},
		"Jobs inherit the topology of the JobSet": {
			jobSet: MakeJobSet("js").Entry("w", 1).Annotation(v1alpha2.ExclusiveKey, "rack"), topology: "rack"},
		"the template takes precedence over the JobSet": {
			jobSet: MakeJobSet("js").Entry("w", 1, onTemplate).Annotation(v1alpha2.ExclusiveKey, "rack"), topology: "zone"},
		"the node selector strategy pins the pods": {
			jobSet:   MakeJobSet("js").Entry("w", 1, onTemplate).Annotation(v1alpha2.NodeSelectorStrategyKey, "true"),
			topology: "zone", selector: map[string]string{"alpha.jobset.sigs.k8s.io/namespaced-job": "default_js-w-0"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			job := build(c.jobSet, 0, 0)
			pod := job.Spec.Template
			if job.Annotations[v1alpha2.ExclusiveKey] != c.topology || pod.Annotations[v1alpha2.ExclusiveKey] != c.topology {
				t.Errorf("topology %q on the Job and %q on the pods, want %q",
					job.Annotations[v1alpha2.ExclusiveKey], pod.Annotations[v1alpha2.ExclusiveKey], c.topology)
			}
			if diff := cmp.Diff(c.selector, pod.Spec.NodeSelector); diff != "" {
				t.Error(diff)
			}
			if tolerates := len(pod.Spec.Tolerations) == 1; tolerates != (c.selector != nil) {
				t.Errorf("tolerations: %v", pod.Spec.Tolerations)
			}
		})
	}
}

func TestService(t *testing.T) {
	js := MakeJobSet("js").Workers(1)
	want := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "js", Namespace: "default",
			Labels: map[string]string{"jobset.sigs.k8s.io/jobset-name": "js"}, OwnerReferences: []metav1.OwnerReference{ownedBy(js.Obj())}},
		Spec: corev1.ServiceSpec{ClusterIP: "None", PublishNotReadyAddresses: true,
			Selector: map[string]string{"jobset.sigs.k8s.io/jobset-name": "js"}},
	}
	if diff := cmp.Diff(want, Service(js.Obj())); diff != "" {
		t.Error(diff)
	}

	js.Spec.Network = &v1alpha2.Network{Subdomain: "sub", PublishNotReadyAddresses: ptr.To(false)}
	if s := Service(js.Obj()); s.Name != "sub" || s.Spec.PublishNotReadyAddresses {
		t.Errorf("the network settings are not applied: %+v", s)
	}
}

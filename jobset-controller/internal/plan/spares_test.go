package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

func TestSpares(t *testing.T) {
	js := oneAnnotation().Annotation(v1alpha2.SparesKey, "3")
	job := withAgents(js).Spares(0)
	if job.Name != "js-workers-spares" || *job.Spec.Parallelism != 3 || *job.Spec.Completions != 3 {
		t.Errorf("Job %s with %d of %d pods", job.Name, *job.Spec.Parallelism, *job.Spec.Completions)
	}
	template := &job.Spec.Template
	for _, key := range []string{v1alpha2.JobIndexKey, v1alpha2.JobGlobalIndexKey, v1alpha2.JobGroupIndexKey} {
		if template.Annotations[key] != coordination.Spares || template.Labels[key] != coordination.Spares || job.Labels[key] != coordination.Spares {
			t.Errorf("%s is %q", key, template.Annotations[key])
		}
	}
	if member := withAgents(js).Job(0, 0); template.Labels[v1alpha2.JobKey] == member.Spec.Template.Labels[v1alpha2.JobKey] || template.Spec.Subdomain != member.Spec.Template.Spec.Subdomain {
		t.Error("the spares share the key of a Job, or have another subdomain")
	}
	terms := template.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if len(terms) != 1 || terms[0].TopologyKey != corev1.LabelHostname || terms[0].LabelSelector.MatchLabels[v1alpha2.JobSetUIDKey] != "js-uid" {
		t.Errorf("anti-affinity %+v", terms)
	}
	if js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Affinity != nil {
		t.Error("the JobSet was changed")
	}
	if none := withAgents(oneAnnotation()).Spares(0); none != nil {
		t.Errorf("%s without the annotation", none.Name)
	}
}

// Workers of a replicatedJob without spares must be able to reach a worker that runs in a spare of another one. If a
// Job is recreated after the spares were removed, its slots may still be in spares.
func TestWorkersFollowTheSlotsOfOthers(t *testing.T) {
	js := oneAnnotation().Entry("leader", 1, func(e *v1alpha2.ReplicatedJob) {
		e.Template.Annotations = map[string]string{v1alpha2.SparesKey: "1"}
		e.Template.Spec.Template.Spec.Containers[0].Command = []string{"python", "lead.py"}
	})
	leader, worker, spares := withAgents(js).Job(1, 0), withAgents(js).Job(0, 0), withAgents(js).Spares(1)
	wantSlots(t, leader, v1alpha2.SlotsAny)
	wantSlots(t, worker, v1alpha2.SlotsFollow)

	js.Spec.ReplicatedJobs[1].Template.Annotations = map[string]string{v1alpha2.SlotsKey: v1alpha2.SlotsAny}
	wantSlots(t, withAgents(js, spares).Job(1, 0), v1alpha2.SlotsAny)
	wantSlots(t, withAgents(js, spares).Job(0, 0), v1alpha2.SlotsFollow)
	wantSlots(t, withAgents(js).Job(1, 0), "")
}

// wantSlots checks which slots the workers of a Job support.
func wantSlots(t *testing.T, job *batchv1.Job, want string) {
	t.Helper()
	if got := job.Annotations[v1alpha2.SlotsKey]; got != want {
		t.Errorf("%s: slots %q, want %q", job.Name, got, want)
	}
	variables := map[string]string{}
	for _, v := range job.Spec.Template.Spec.Containers[0].Env {
		variables[v.Name] = v.Value
	}
	if _, follows := variables["HOLDFAST_FIRST_JOB_GLOBAL_INDEX"]; follows != (want != "") {
		t.Errorf("%s: follows slots: %t", job.Name, follows)
	}
	if any := variables["JOB_COMPLETION_INDEX"] == coordination.PlaceholderPod; any != (want == v1alpha2.SlotsAny) {
		t.Errorf("%s: works in any slot: %t", job.Name, any)
	}
}

// The template's placement constraints also apply to spares, both among themselves and relative to the workers.
func TestSparesAreSpreadAsTheirTemplateAsks(t *testing.T) {
	js := oneAnnotation().Annotation(v1alpha2.SparesKey, "2")
	pod := &js.Spec.ReplicatedJobs[0].Template.Spec.Template
	pod.Labels = map[string]string{"app": "train"}
	pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "train"}},
	}}
	pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "example.com/rack"}},
	}}
	spares := withAgents(js).Spares(0).Spec.Template
	if diff := cmp.Diff(pod.Spec.TopologySpreadConstraints, spares.Spec.TopologySpreadConstraints); diff != "" || spares.Labels["app"] != "train" {
		t.Errorf("labels %v, constraints: %s", spares.Labels, diff)
	}
	if terms := spares.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution; len(terms) != 2 || terms[0].TopologyKey != "example.com/rack" {
		t.Errorf("anti-affinity %+v", terms)
	}
}

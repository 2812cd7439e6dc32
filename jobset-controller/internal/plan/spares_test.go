package plan

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

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

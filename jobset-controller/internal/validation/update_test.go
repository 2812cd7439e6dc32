package validation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
)

func pod(change func(*corev1.PodTemplateSpec)) func(*v1alpha2.JobSetSpec) {
	return func(s *v1alpha2.JobSetSpec) { change(&s.ReplicatedJobs[0].Template.Spec.Template) }
}

func sized(parallelism, completions int32) func(*v1alpha2.JobSetSpec) {
	return func(s *v1alpha2.JobSetSpec) {
		job := &s.ReplicatedJobs[0].Template.Spec
		job.Parallelism, job.Completions = &parallelism, &completions
	}
}

func suspended(s *v1alpha2.JobSetSpec) { s.Suspend = ptr.To(true) }

func unindexed(s *v1alpha2.JobSetSpec) {
	s.ReplicatedJobs[0].Template.Spec.CompletionMode = ptr.To(batchv1.NonIndexedCompletion)
}

func TestUpdate(t *testing.T) {
	const (
		running = `spec.replicatedJobs[0]: Invalid value: field is immutable; some fields of the pod template can be changed while the JobSet is suspended`
		stopped = `spec.replicatedJobs[0]: Invalid value: field is immutable; while the JobSet is suspended these fields of the pod template can be changed: ` +
			`metadata.labels, metadata.annotations, spec.nodeSelector, spec.tolerations, spec.schedulingGates`
	)
	type changes []func(*v1alpha2.JobSetSpec)
	queue := pod(func(p *corev1.PodTemplateSpec) {
		p.Labels, p.Annotations = map[string]string{"a": "b"}, map[string]string{"a": "b"}
		p.Spec.NodeSelector, p.Spec.Tolerations = map[string]string{"a": "b"}, []corev1.Toleration{{Key: "a"}}
		p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "a"}}
	})
	image := pod(func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Image = "other" })
	cases := map[string]struct {
		before, after changes
		features      policy.Features
		finished      bool
		want          string
	}{
		"nothing":                    {},
		"suspend":                    {after: changes{suspended}},
		"a queue resumes":            {before: changes{suspended}, after: changes{queue}},
		"a queue suspends":           {before: changes{queue}, after: changes{suspended}},
		"the same while it runs":     {after: changes{queue}, want: running},
		"another image":              {after: changes{image}, want: running},
		"another image in a queue":   {before: changes{suspended}, after: changes{suspended, image}, want: stopped},
		"more replicas":              {after: changes{func(s *v1alpha2.JobSetSpec) { s.ReplicatedJobs[0].Replicas = 3 }}, want: running},
		"a label of the Job":         {before: changes{suspended}, after: changes{suspended, func(s *v1alpha2.JobSetSpec) { s.ReplicatedJobs[0].Template.Labels = map[string]string{"a": "b"} }}, want: stopped},
		"a replicatedJob is removed": {after: changes{func(s *v1alpha2.JobSetSpec) { s.ReplicatedJobs = s.ReplicatedJobs[:1] }}, want: `spec.replicatedJobs: Invalid value: field is immutable: replicatedJobs cannot be added, removed or reordered: ["a" "b"] became ["a"]`},
		"replicatedJobs are swapped": {after: changes{func(s *v1alpha2.JobSetSpec) {
			s.ReplicatedJobs[0], s.ReplicatedJobs[1] = s.ReplicatedJobs[1], s.ReplicatedJobs[0]
		}}, want: `spec.replicatedJobs: Invalid value: field is immutable: replicatedJobs cannot be added, removed or reordered: ["a" "b"] became ["b" "a"]`},
		"a default is set explicitly": {after: changes{func(s *v1alpha2.JobSetSpec) {
			s.ReplicatedJobs[0].Template.Spec.CompletionMode = ptr.To(batchv1.IndexedCompletion)
			s.ReplicatedJobs[0].Template.Spec.Template.Spec.RestartPolicy = "OnFailure"
		}}},
		"another completion mode": {after: changes{unindexed}, want: running},
		"managedBy is set":        {after: changes{func(s *v1alpha2.JobSetSpec) { s.ManagedBy = ptr.To("a.io/b") }}, want: `spec.managedBy: Invalid value: field is immutable`},
		"managedBy is removed":    {before: changes{func(s *v1alpha2.JobSetSpec) { s.ManagedBy = ptr.To("a.io/b") }}, want: `spec.managedBy: Invalid value: field is immutable`},
		"default network":         {after: changes{func(s *v1alpha2.JobSetSpec) { s.Network = &v1alpha2.Network{EnableDNSHostnames: ptr.To(true)} }}},
		"no network":              {after: changes{func(s *v1alpha2.JobSetSpec) { s.Network = &v1alpha2.Network{EnableDNSHostnames: ptr.To(false)} }}, want: `spec.network: Invalid value: field is immutable`},
		"a success policy": {after: changes{func(s *v1alpha2.JobSetSpec) {
			s.SuccessPolicy = &v1alpha2.SuccessPolicy{Operator: v1alpha2.OperatorAny}
		}}, want: `spec.successPolicy: Invalid value: field is immutable`},
		"a startup policy": {after: changes{func(s *v1alpha2.JobSetSpec) {
			s.StartupPolicy = &v1alpha2.StartupPolicy{StartupPolicyOrder: v1alpha2.InOrder}
		}}, want: `spec.startupPolicy: Invalid value: field is immutable`},
		"a failure policy is added":            {after: changes{func(s *v1alpha2.JobSetSpec) { s.FailurePolicy = &v1alpha2.FailurePolicy{} }}},
		"another size":                         {after: changes{sized(2, 2)}, want: running},
		"another size with the gate":           {after: changes{sized(2, 2)}, features: all},
		"no size":                              {after: changes{sized(0, 0)}, features: all, want: `spec.replicatedJobs[0].template.spec.parallelism: Invalid value: 0: parallelism must be >= 1; spec.replicatedJobs[0].template.spec.completions: Invalid value: 0: completions must be >= 1`},
		"two sizes":                            {after: changes{sized(2, 3)}, features: all, want: `spec.replicatedJobs[0].template.spec.completions: Invalid value: 3: completions must be equal to parallelism for Elastic Indexed Jobs`},
		"another size of a finished JobSet":    {after: changes{sized(2, 2)}, features: all, finished: true, want: `spec.replicatedJobs[0].template.spec: Forbidden: Cannot mutate parallelism or completions when JobSet is in a terminal state (Completed or Failed)`},
		"another size of Jobs without indexes": {before: changes{unindexed}, after: changes{unindexed, sized(2, 2)}, features: all, want: running},
		"another size and another image":       {after: changes{sized(2, 2), image}, features: all, want: running},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			old, now := js().Obj(), js().Obj()
			for _, change := range c.before {
				change(&old.Spec)
			}
			for _, change := range c.after {
				change(&now.Spec)
			}
			if c.finished {
				old.Status.TerminalState = "Completed"
			}
			var texts []string
			for _, err := range Update(old, now, c.features) {
				texts = append(texts, err.Error())
			}
			if diff := cmp.Diff(c.want, strings.Join(texts, "; ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	js := js().Change(func(js *v1alpha2.JobSet) {
		js.Spec.ReplicatedJobs[1].Template.Spec.TTLSecondsAfterFinished = ptr.To[int32](1)
	})
	want := []string{"spec.replicatedJobs[1].template.spec.ttlSecondsAfterFinished: a finished job that is deleted while the JobSet is still running is recreated; " +
		"use spec.ttlSecondsAfterFinished"}
	if diff := cmp.Diff(want, Warnings(js.Obj())); diff != "" {
		t.Error(diff)
	}
}

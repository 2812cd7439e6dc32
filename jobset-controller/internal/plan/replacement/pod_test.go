package replacement

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

func job(change ...func(*batchv1.Job)) *batchv1.Job {
	j := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "js-w-0", UID: "job-uid"},
		Spec: batchv1.JobSpec{
			Completions: ptr.To[int32](4), Parallelism: ptr.To[int32](4), CompletionMode: ptr.To(batchv1.IndexedCompletion),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"}},
				Spec: corev1.PodSpec{
					Subdomain:       "js",
					SchedulingGates: []corev1.PodSchedulingGate{{Name: "kueue.x-k8s.io/topology"}},
					InitContainers:  []corev1.Container{{Name: "agent"}},
					Containers:      []corev1.Container{{Name: "worker", Env: []corev1.EnvVar{{Name: "X", Value: "y"}}}},
				},
			},
		},
		Status: batchv1.JobStatus{Active: 4},
	}
	for _, c := range change {
		c(j)
	}
	return j
}

func TestPodEqualsThatOfTheJobController(t *testing.T) {
	j := job()
	index := corev1.EnvVar{Name: "JOB_COMPLETION_INDEX", ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['batch.kubernetes.io/job-completion-index']"},
	}}
	got := Pod(j, 2, "1", "5", "lost-uid")
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: got.Name,
			Labels:      map[string]string{"a": "b", "batch.kubernetes.io/job-completion-index": "2"},
			Annotations: map[string]string{"c": "d", "batch.kubernetes.io/job-completion-index": "2"},
			Finalizers:  []string{"batch.kubernetes.io/job-tracking"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "batch/v1", Kind: "Job", Name: "js-w-0", UID: "job-uid", Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
			}},
		},
		Spec: corev1.PodSpec{
			Subdomain: "js", Hostname: "js-w-0-2",
			SchedulingGates: []corev1.PodSchedulingGate{{Name: "kueue.x-k8s.io/topology"}},
			InitContainers:  []corev1.Container{{Name: "agent", Env: []corev1.EnvVar{index}}},
			Containers:      []corev1.Container{{Name: "worker", Env: []corev1.EnvVar{{Name: "X", Value: "y"}, index}}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(job(), j); diff != "" {
		t.Errorf("the Job of the cache was changed:\n%s", diff)
	}
}

func TestASparePrefersOtherNodes(t *testing.T) {
	own := &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1}}}}
	for name, affinity := range map[string]*corev1.Affinity{"no affinity": nil, "its own affinity": own} {
		t.Run(name, func(t *testing.T) {
			j := job(func(j *batchv1.Job) {
				j.Spec.Template.Labels[v1alpha2.JobSetUIDKey] = "js-uid"
				j.Spec.Template.Spec.Affinity = affinity.DeepCopy()
			})
			pod := Pod(j, 2)
			PreferOtherNodes(pod)
			terms := pod.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution
			last := terms[len(terms)-1]
			if last.Weight != 100 || last.PodAffinityTerm.TopologyKey != corev1.LabelHostname || last.PodAffinityTerm.LabelSelector.MatchLabels[v1alpha2.JobSetUIDKey] != "js-uid" {
				t.Errorf("%+v", last)
			}
			if diff := cmp.Diff(affinity, j.Spec.Template.Spec.Affinity); diff != "" {
				t.Errorf("the Job was changed:\n%s", diff)
			}
		})
	}
}

func TestVariableOfTheUserIsKept(t *testing.T) {
	j := job(func(j *batchv1.Job) {
		j.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "JOB_COMPLETION_INDEX", Value: "mine"}}
		j.Spec.Template.Finalizers = []string{"batch.kubernetes.io/job-tracking"}
	})
	got := Pod(j, 0)
	if env := got.Spec.Containers[0].Env; len(env) != 1 || env[0].Value != "mine" || len(got.Finalizers) != 1 {
		t.Errorf("env %v, finalizers %v", env, got.Finalizers)
	}
}

// Two leaders that observe the same loss create one pod: the second creation is rejected.
func TestNameFollowsFromTheReason(t *testing.T) {
	name := func(j *batchv1.Job, index int, reason ...string) string { return Pod(j, index, reason...).Name }
	base := name(job(), 2, "1", "5", "a")
	if again := name(job(), 2, "1", "5", "a"); again != base {
		t.Errorf("%s and %s for the same reason", base, again)
	}
	if !strings.HasPrefix(base, "js-w-0-2-") || len(base) != len("js-w-0-2-")+5 {
		t.Errorf("%s does not look like a pod of the Job", base)
	}
	for what, other := range map[string]string{
		"another round":   name(job(), 2, "1", "6", "a"),
		"another loss":    name(job(), 2, "1", "5", "b"),
		"another epoch":   name(job(), 2, "2", "5", "a"),
		"a recreated Job": name(job(func(j *batchv1.Job) { j.UID = types.UID("other") }), 2, "1", "5", "a"),
	} {
		if other == base {
			t.Errorf("%s gives the same name", what)
		}
	}
	long := name(job(func(j *batchv1.Job) { j.Name = strings.Repeat("x", 63) }), 1234, "1")
	if len(long) != 63 || !strings.Contains(long, "-1234-") {
		t.Errorf("%s has %d letters", long, len(long))
	}
}

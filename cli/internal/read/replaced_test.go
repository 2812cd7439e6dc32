package read

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// made returns a running pod that was created the given number of seconds after noon. The controller's UID is the same
// as its name.
func made(name, kind, controller string, second int, change ...func(*corev1.Pod)) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(noon.Add(time.Duration(second) * time.Second))}}
	p.Status.Phase = corev1.PodRunning
	if kind != "" {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: controller, UID: types.UID(controller), Controller: new(true)}}
	}
	for _, c := range change {
		c(&p)
	}
	return p
}

func failed(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }

func at0(p *corev1.Pod) { p.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: "0"} }

func at1(p *corev1.Pod) { p.Labels = map[string]string{batchv1.JobCompletionIndexAnnotation: "1"} }

func hashed(p *corev1.Pod) {
	_, hash, _ := strings.Cut(p.OwnerReferences[0].Name, "-")
	p.Labels = map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: hash}
}

// A failed pod still exists while its replacement is running, but counts as a worker only while it has no replacement.
func TestReplacedPodsAreNotWorkers(t *testing.T) {
	const set, job = "ReplicaSet", "Job"
	for name, tc := range map[string]struct {
		pods []corev1.Pod
		want string
	}{
		"an evicted pod with a newer one": {[]corev1.Pod{made("a", set, "s", 0), made("b", set, "s", 0, failed), made("c", set, "s", 9)}, "a c"},
		"a pod rejected in the same second": {
			[]corev1.Pod{made("a", set, "s", 0), made("b", set, "s", 0, failed), made("c", set, "s", 0, failed)}, "a",
		},
		"several failures of one replica": {[]corev1.Pod{made("c", set, "s", 9), made("a", set, "s", 0, failed), made("b", set, "s", 5, failed)}, "c"},
		"one replacement for two failed pods": {
			[]corev1.Pod{made("a", job, "j", 0, failed), made("b", job, "j", 0, failed), made("c", job, "j", 9)}, "a c",
		},
		"no replacement yet":                              {[]corev1.Pod{made("a", job, "j", 0, failed), made("b", job, "j", 0)}, "a b"},
		"the newest has failed":                           {[]corev1.Pod{made("a", set, "s", 0), made("b", set, "s", 9, failed)}, "a b"},
		"a newer pod with another index":                  {[]corev1.Pod{made("a", job, "j", 0, failed, at0), made("b", job, "j", 9, at1)}, "a b"},
		"a newer pod with the same index":                 {[]corev1.Pod{made("a", job, "j", 0, failed, at1), made("b", job, "j", 9, at1), made("c", job, "j", 0, at0)}, "b c"},
		"a newer pod of another controller":               {[]corev1.Pod{made("a", set, "s", 0, failed), made("b", set, "other", 9)}, "a b"},
		"a newer pod of the Deployment's next ReplicaSet": {[]corev1.Pod{made("a", set, "web-1", 0, failed, hashed), made("b", set, "web-2", 9, hashed)}, "b"},
		"a newer pod of another Deployment":               {[]corev1.Pod{made("a", set, "web-1", 0, failed, hashed), made("b", set, "db-1", 9, hashed)}, "a b"},
		"pods without a controller":                       {[]corev1.Pod{made("a", "", "", 0, failed), made("b", "", "", 9)}, "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			w := Workload{Objects: []*unstructured.Unstructured{{Object: map[string]any{}}}, Pods: tc.pods}
			rigid, _ := w.Workers()
			var names []string
			for i := range rigid {
				names = append(names, rigid[i].Name)
			}
			slices.Sort(names)
			if got := strings.Join(names, " "); got != tc.want {
				t.Errorf("%s are workers, want %s", got, tc.want)
			}
		})
	}
}

func TestFinishedJobs(t *testing.T) {
	for name, tc := range map[string]struct {
		kind, condition, status string
		want                    bool
	}{
		"complete":                           {"Job", "Complete", "True", true},
		"failed":                             {"Job", "Failed", "True", true},
		"running":                            {"Job", "Suspended", "True", false},
		"no longer failed":                   {"Job", "Failed", "False", false},
		"a ReplicaSet, which never finishes": {"ReplicaSet", "Failed", "True", false},
		"a Job that is about to complete":    {"Job", "SuccessCriteriaMet", "True", false},
	} {
		t.Run(name, func(t *testing.T) {
			o := &unstructured.Unstructured{Object: map[string]any{"kind": tc.kind, "status": map[string]any{
				"conditions": []any{map[string]any{"type": tc.condition, "status": tc.status}},
			}}}
			if got := finishedJob(o); got != tc.want {
				t.Errorf("finished is %t, want %t", got, tc.want)
			}
		})
	}
}

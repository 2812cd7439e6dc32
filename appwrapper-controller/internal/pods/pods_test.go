package pods

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
)

// pod returns a pod created the given number of seconds after the start, with an owner and an index.
func pod(name string, phase corev1.PodPhase, at int, owner, index string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1beta2.ComponentLabel: "0"}, CreationTimestamp: metav1.NewTime(time.Unix(int64(1000+at), 0))}}
	p.Status.Phase = phase
	if owner != "" {
		p.OwnerReferences = []metav1.OwnerReference{{UID: types.UID(owner), Controller: ptr.To(true)}}
	}
	if index != "" {
		p.Labels["batch.kubernetes.io/job-completion-index"] = index
	}
	return p
}

func deleted(p *corev1.Pod) *corev1.Pod {
	p.DeletionTimestamp = ptr.To(metav1.Now())
	return p
}

func ended(p *corev1.Pod, at int, code int32) *corev1.Pod {
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, FinishedAt: metav1.NewTime(time.Unix(int64(1000+at), 0))}}}}
	return p
}

const (
	pending   = corev1.PodPending
	running   = corev1.PodRunning
	succeeded = corev1.PodSucceeded
	failed    = corev1.PodFailed
)

func TestSummary(t *testing.T) {
	for name, tc := range map[string]struct {
		pods []*corev1.Pod
		want Count
	}{
		"none":                                {},
		"one of each":                         {pods: []*corev1.Pod{pod("a", pending, 0, "", ""), pod("b", running, 0, "", ""), pod("c", succeeded, 0, "", ""), pod("d", failed, 0, "", "")}, want: Count{Pending: 1, Running: 1, Succeeded: 1, Failed: 1}},
		"being deleted":                       {pods: []*corev1.Pod{deleted(pod("a", running, 0, "", "")), deleted(pod("b", failed, 0, "", "")), deleted(pod("c", succeeded, 0, "", ""))}, want: Count{Terminating: 2, Succeeded: 1}},
		"in an unknown state":                 {pods: []*corev1.Pod{pod("a", corev1.PodUnknown, 0, "", "")}},
		"B-4: a failed pod that was replaced": {pods: []*corev1.Pod{pod("a", failed, 0, "job", "1"), pod("b", running, 5, "job", "1")}, want: Count{Running: 1}},
		"B-4: a failed pod whose replacement has succeeded":   {pods: []*corev1.Pod{pod("a", failed, 0, "job", ""), pod("b", succeeded, 5, "job", "")}, want: Count{Succeeded: 1}},
		"a pending replacement does not count yet":            {pods: []*corev1.Pod{pod("a", failed, 0, "job", "1"), pod("b", pending, 5, "job", "1")}, want: Count{Pending: 1, Failed: 1}},
		"a pod with another index does not replace it":        {pods: []*corev1.Pod{pod("a", failed, 0, "job", "1"), pod("b", running, 5, "job", "2")}, want: Count{Running: 1, Failed: 1}},
		"a pod of another owner does not":                     {pods: []*corev1.Pod{pod("a", failed, 0, "job", ""), pod("b", running, 5, "other", "")}, want: Count{Running: 1, Failed: 1}},
		"an older pod does not":                               {pods: []*corev1.Pod{pod("a", failed, 5, "job", ""), pod("b", running, 0, "job", "")}, want: Count{Running: 1, Failed: 1}},
		"without an index, one replaces one":                  {pods: []*corev1.Pod{pod("a", failed, 0, "job", ""), pod("b", failed, 1, "job", ""), pod("c", running, 5, "job", "")}, want: Count{Running: 1, Failed: 1}},
		"the last pod of an index replaces all":               {pods: []*corev1.Pod{pod("a", failed, 0, "job", "1"), pod("b", failed, 3, "job", "1"), pod("c", running, 5, "job", "1")}, want: Count{Running: 1}},
		"created in the second in which the other pod failed": {pods: []*corev1.Pod{ended(pod("a", failed, 0, "job", "1"), 0, 1), pod("b", running, 0, "job", "1")}, want: Count{Running: 1}},
		"created together, before the other pod failed":       {pods: []*corev1.Pod{ended(pod("a", failed, 0, "job", ""), 9, 1), pod("b", running, 0, "job", "")}, want: Count{Running: 1, Failed: 1}},
		"a pod without an owner is not replaced":              {pods: []*corev1.Pod{pod("a", failed, 0, "", ""), pod("b", running, 5, "", "")}, want: Count{Running: 1, Failed: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := Summarize(tc.pods)
			if diff := cmp.Diff(tc.want, s.All); diff != "" {
				t.Error(diff)
			}
			if len(s.Failed) != int(tc.want.Failed) {
				t.Errorf("%d failed pods are listed", len(s.Failed))
			}
		})
	}
}

func TestComponentOfPod(t *testing.T) {
	other := pod("a", running, 0, "", "")
	other.Labels[v1beta2.ComponentLabel] = "2"
	stray := pod("b", failed, 0, "", "")
	stray.Labels = nil
	s := Summarize([]*corev1.Pod{other, stray, pod("c", running, 0, "", "")})
	want := map[int]Count{0: {Running: 1}, 2: {Running: 1}, UnknownComponent: {Failed: 1}}
	if diff := cmp.Diff(want, s.ByComponent); diff != "" {
		t.Error(diff)
	}
}

// B-23: requests of init containers and sidecars are included.
func TestB23Requests(t *testing.T) {
	one := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}
	none := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("0")}
	for name, tc := range map[string]struct {
		spec corev1.PodSpec
		want bool
	}{
		"nothing":             {},
		"a request":           {spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: one}}}}, want: true},
		"a limit":             {spec: corev1.PodSpec{Containers: []corev1.Container{{}, {Resources: corev1.ResourceRequirements{Limits: one}}}}, want: true},
		"a request for zero":  {spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: none}}}}},
		"an init container":   {spec: corev1.PodSpec{InitContainers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: one}}}}, want: true},
		"pod-level resources": {spec: corev1.PodSpec{Resources: &corev1.ResourceRequirements{Limits: one}}, want: true},
	} {
		if got := Requests(&tc.spec)["nvidia.com/gpu"]; got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestExitCodes(t *testing.T) {
	s := Summarize([]*corev1.Pod{ended(pod("a", failed, 0, "", ""), 1, 7), ended(pod("b", failed, 0, "", ""), 1, 3), ended(pod("c", failed, 0, "", ""), 1, 7), ended(pod("d", succeeded, 0, "", ""), 1, 0)})
	if diff := cmp.Diff([]int32{3, 7}, s.ExitCodes()); diff != "" {
		t.Error(diff)
	}
}

// The pods of the previous wave may have been deleted. The creation times of the next pods still show when that wave
// ended.
func TestProgressOfJobWaves(t *testing.T) {
	for name, tc := range map[string]struct {
		pods []*corev1.Pod
		want int // seconds after the start
	}{
		"a pod that succeeded":                {[]*corev1.Pod{ended(pod("a", succeeded, 0, "job", ""), 60, 0), pod("b", pending, 61, "job", "")}, 61},
		"the succeeded pods were deleted":     {[]*corev1.Pod{pod("b", pending, 61, "job", ""), pod("c", pending, 70, "job", "")}, 61},
		"a pod succeeded while others waited": {[]*corev1.Pod{ended(pod("a", succeeded, 0, "job", ""), 90, 0), pod("b", pending, 61, "job", "")}, 90},
		"a running pod does not count":        {[]*corev1.Pod{pod("b", running, 61, "job", "")}, -1000},
	} {
		if got := Summarize(tc.pods).Progress; !got.Equal(time.Unix(int64(1000+tc.want), 0)) && !(got.IsZero() && tc.want < 0) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

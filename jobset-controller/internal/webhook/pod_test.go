package webhook

import (
	"context"
	"errors"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/exclusive"
)

// domains maps each Job to its domain. For any other Job, Of returns an error.
type domains map[types.UID]string

// second is the UID of a Job whose index 0 has finished.
const second types.UID = "second"

var errDown = errors.New("the cache is down")

func (d domains) LeaderIsOver(_ context.Context, job types.NamespacedName, uid types.UID) (bool, error) {
	return uid == second && job == (types.NamespacedName{Namespace: "ns", Name: "a-w-0"}), nil
}

func (d domains) Of(_ context.Context, job types.UID, _ string) (string, error) {
	domain, found := d[job]
	if !found {
		return "", errDown
	}
	return domain, nil
}

// exclusivePod returns a pod of the Job with the UID "job".
func exclusivePod(index string, change ...func(*corev1.Pod)) *corev1.Pod {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "a-w-0", UID: "job"}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Annotations:     map[string]string{v1alpha2.ExclusiveKey: "rack", batchv1.JobCompletionIndexAnnotation: index},
		Labels:          map[string]string{v1alpha2.JobKey: "k"},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
	}}
	for _, c := range change {
		c(pod)
	}
	return pod
}

// ofSecond moves the pod to a Job whose index 0 has finished.
func ofSecond(p *corev1.Pod) { p.Namespace, p.OwnerReferences[0].UID = "ns", second }

func elected(p *corev1.Pod)  { p.Annotations[exclusive.LeaderKey] = "true" }
func orphan(p *corev1.Pod)   { p.OwnerReferences = nil }
func reserved(p *corev1.Pod) { p.Annotations[v1alpha2.NodeSelectorStrategyKey] = "true" }

func TestDefault(t *testing.T) {
	for name, c := range map[string]struct {
		pod     *corev1.Pod
		domains domains
		want    string // leader, waits, or a domain; empty if unchanged
	}{
		"the leader needs no domain":               {exclusivePod("0"), domains{}, "leader"},
		"a follower of a placed leader":            {exclusivePod("1"), domains{"job": "r1"}, "r1"},
		"a follower before its leader":             {exclusivePod("1"), domains{"job": ""}, "waits"},
		"any pod when index 0 has finished":        {exclusivePod("2", ofSecond), domains{second: ""}, "leader"},
		"a follower of a leader that has finished": {exclusivePod("1", ofSecond), domains{second: "r1"}, "r1"},
		"a copy of a promoted leader":              {exclusivePod("1", elected), domains{"job": "r1"}, "r1"},
		"a pod that no Job owns":                   {exclusivePod("0", orphan), domains{}, ""},
		"a pod whose nodes were reserved":          {exclusivePod("1", reserved), domains{}, ""},
		"a pod without the annotation":             {&corev1.Pod{}, domains{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := pods{domains: c.domains}
			if err := w.Default(t.Context(), c.pod); err != nil {
				t.Fatal(err)
			}
			if got := placed(c.pod); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if _, err := w.ValidateCreate(t.Context(), c.pod); err != nil {
				t.Errorf("a prepared pod is refused: %v", err)
			}
		})
	}
}

func placed(p *corev1.Pod) string {
	switch {
	case p.Spec.Affinity != nil:
		return "leader"
	case exclusive.Held(p):
		return "waits"
	}
	return p.Spec.NodeSelector["rack"]
}

func TestFollowerIsRejectedIfTheCacheFails(t *testing.T) {
	err := pods{domains: domains{}}.Default(t.Context(), exclusivePod("1"))
	if !errors.Is(err, errDown) || !strings.Contains(err.Error(), "job a-w-0") {
		t.Errorf("got %v", err)
	}
}

func TestPodChangedByAnotherWebhookIsRejected(t *testing.T) {
	for name, pod := range map[string]*corev1.Pod{"a leader": exclusivePod("0"), "a follower": exclusivePod("1")} {
		_, err := pods{}.ValidateCreate(t.Context(), pod)
		if err == nil || !strings.Contains(err.Error(), "exclusive placement in rack") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

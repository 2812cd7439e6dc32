package kubelet

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// pod returns a pod with a sidecar, an init container and a main container.
func pod(policy corev1.RestartPolicy) *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{
		RestartPolicy: policy,
		InitContainers: []corev1.Container{
			{Name: "agent", Image: "a", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)}, {Name: "prepare", Image: "p"},
		},
		Containers: []corev1.Container{{Name: "main", Image: "m"}},
	}}
}

func TestShapeOf(t *testing.T) {
	p := pod(corev1.RestartPolicyOnFailure)
	p.Annotations = map[string]string{SucceedAfter: "30s"}
	got, err := ShapeOf(p)
	if err != nil {
		t.Fatal(err)
	}
	want := withSidecar(corev1.RestartPolicyOnFailure)
	want.SucceedAfter = 30 * time.Second
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("shape (-want +got):\n%s", diff)
	}
	p.Annotations[SucceedAfter] = "soon"
	if _, err := ShapeOf(p); err == nil {
		t.Error("an annotation that is not a duration is accepted")
	}
}

// A process that takes over must resume each life from the state that the API server has, and report the same state.
func TestResumeContinuesFromTheStatus(t *testing.T) {
	addresses := Addresses{Host: "h", Pod: "p"}
	for name, test := range map[string]struct {
		policy corev1.RestartPolicy
		live   func(*Life)
		then   float64 // when the other process takes over
		same   bool    // it has nothing new to report
	}{
		"running": {
			policy: corev1.RestartPolicyAlways, live: func(l *Life) { l.Advance(after(5)) }, then: 5, same: true,
		},
		"restarted": {
			policy: corev1.RestartPolicyAlways, then: 20, same: true,
			live: func(l *Life) { _ = l.Exit(after(10), "", 1); l.Advance(after(20)) },
		},
		"succeeded": {
			policy: corev1.RestartPolicyNever, then: 20, same: true,
			live: func(l *Life) { _ = l.Exit(after(10), "", 0); l.Advance(after(20)) },
		},
		"about to be restarted": {
			policy: corev1.RestartPolicyAlways, then: 10.6,
			live: func(l *Life) { _ = l.Exit(after(10), "", 1); l.Advance(after(10.6)) },
		},
		"backing off": {
			policy: corev1.RestartPolicyAlways, then: 25,
			live: func(l *Life) {
				_ = l.Exit(after(10), "", 1)
				_ = l.Exit(after(20), "", 1)
				l.Advance(after(25))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod(test.policy)
			shape, err := ShapeOf(p)
			if err != nil {
				t.Fatal(err)
			}
			first := Begin(epoch, shape, KubeletRules(), half)
			test.live(first)
			now := after(test.then)
			p.Status = first.Status(p, now, addresses)
			second := Resume(now, p, shape, KubeletRules(), half)
			if test.same {
				if diff := cmp.Diff(p.Status, second.Status(p, now, addresses)); diff != "" {
					t.Errorf("the other process reports something else (-first +second):\n%s", diff)
				}
				return
			}
			second.Advance(now.Add(time.Second))
			status := second.Status(p, now, addresses).ContainerStatuses[0]
			if status.State.Running == nil || status.RestartCount != p.Status.ContainerStatuses[0].RestartCount+1 {
				t.Errorf("a second later it is %+v after %d restarts", status.State, status.RestartCount)
			}
		})
	}
}

func TestStatusOfARunningPod(t *testing.T) {
	p := pod(corev1.RestartPolicyAlways)
	p.Status.StartTime = &metav1.Time{Time: epoch}
	shape, err := ShapeOf(p)
	if err != nil {
		t.Fatal(err)
	}
	l := Begin(epoch, shape, KubeletRules(), half)
	p.Status = l.Status(p, epoch, Addresses{Host: "h", Pod: "p"})
	l.Advance(after(1))
	status := l.Status(p, after(1), Addresses{Host: "h", Pod: "p"})

	if status.Phase != corev1.PodRunning || status.PodIP != "p" || status.HostIP != "h" {
		t.Errorf("phase %s, addresses %s and %s", status.Phase, status.PodIP, status.HostIP)
	}
	if got := len(status.InitContainerStatuses) + len(status.ContainerStatuses); got != 3 {
		t.Errorf("%d containers have a status, want 3", got)
	}
	for _, condition := range status.Conditions {
		if condition.Status != corev1.ConditionTrue {
			t.Errorf("%s is %s", condition.Type, condition.Status)
		}
		changed := condition.Type != corev1.PodReadyToStartContainers
		if moved := condition.LastTransitionTime.Equal(&metav1.Time{Time: after(1)}); moved != changed {
			t.Errorf("%s changed at %s", condition.Type, condition.LastTransitionTime)
		}
	}
}

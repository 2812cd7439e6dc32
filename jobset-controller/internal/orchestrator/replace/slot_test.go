package replace

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func pod(phase corev1.PodPhase, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "node"}, Status: corev1.PodStatus{Phase: phase}}
	for _, c := range change {
		c(p)
	}
	return p
}

// deleted with a grace of so many seconds.
func deleted(grace int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = ptr.To(metav1.NewTime(time.Unix(1000+grace, 0))), ptr.To(grace)
	}
}

func unbound(p *corev1.Pod) { p.Spec.NodeName = "" }

func TestStateOf(t *testing.T) {
	running, pending := pod(corev1.PodRunning), pod(corev1.PodPending, unbound)
	failed, ending := pod(corev1.PodFailed), pod(corev1.PodRunning, deleted(30))
	cases := map[string]struct {
		pods []*corev1.Pod
		want State
	}{
		"no pod at all":                                 {nil, Lost},
		"a running pod":                                 {[]*corev1.Pod{running}, Held},
		"one that waits for a node":                     {[]*corev1.Pod{pending}, Held},
		"a failed pod":                                  {[]*corev1.Pod{failed}, Lost},
		"a failed pod and its replacement":              {[]*corev1.Pod{failed, pending}, Held},
		"in whatever order":                             {[]*corev1.Pod{pending, failed}, Held},
		"a worker that may save its checkpoint":         {[]*corev1.Pod{ending}, Ending},
		"a failed one beside it":                        {[]*corev1.Pod{ending, failed}, Ending},
		"one that ends beside one that lives":           {[]*corev1.Pod{ending, running}, Held},
		"one that was deleted before it had a node":     {[]*corev1.Pod{pod(corev1.PodPending, unbound, deleted(30))}, Lost},
		"one that was deleted by force":                 {[]*corev1.Pod{pod(corev1.PodRunning, deleted(0))}, Lost},
		"one that failed while it was being deleted":    {[]*corev1.Pod{pod(corev1.PodFailed, deleted(30))}, Lost},
		"a finished worker":                             {[]*corev1.Pod{pod(corev1.PodSucceeded)}, Finished},
		"a finished worker that was deleted":            {[]*corev1.Pod{pod(corev1.PodSucceeded, deleted(30))}, Finished},
		"a finished worker after a failed one":          {[]*corev1.Pod{failed, pod(corev1.PodSucceeded)}, Finished},
		"a finished worker beside one that still ends":  {[]*corev1.Pod{pod(corev1.PodSucceeded), ending}, Ending},
		"a deletion whose grace nobody knows":           {[]*corev1.Pod{pod(corev1.PodRunning, deleted(30), forgetGrace)}, Ending},
		"a pod that its node was given and never began": {[]*corev1.Pod{pod(corev1.PodPending, deleted(30))}, Ending},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := StateOf(c.pods); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func forgetGrace(p *corev1.Pod) { p.DeletionGracePeriodSeconds = nil }

func TestPace(t *testing.T) {
	last := time.Unix(1000, 0)
	for made, want := range []time.Duration{0, 1, 2, 4, 8, 16, 30, 30} {
		p := Pace{Made: made, Last: last}
		due := p.Due()
		if made == 0 && !due.IsZero() || made > 0 && due.Sub(last) != want*time.Second {
			t.Errorf("after %d pods the next one is due at %s, want %ds after the last", made, due, want)
		}
	}
}

// The order is that in which the Job controller keeps pods of one index.
func TestOutranks(t *testing.T) {
	born := func(second int64) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(time.Unix(second, 0)) }
	}
	made := pod(corev1.PodPending, unbound, born(10))
	for name, c := range map[string]struct {
		other *corev1.Pod
		want  bool
	}{
		"it has a node":          {pod(corev1.PodPending, born(11)), true},
		"it is older":            {pod(corev1.PodPending, unbound, born(9)), true},
		"it is of the same time": {pod(corev1.PodPending, unbound, born(10)), false},
		"it is younger":          {pod(corev1.PodPending, unbound, born(11)), false},
		"it has failed":          {pod(corev1.PodFailed, born(9)), false},
		"it is being deleted":    {pod(corev1.PodRunning, born(9), deleted(30)), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Outranks(c.other, made); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

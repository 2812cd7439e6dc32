package plugin

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

var errUnknown = errors.New("no state")

// fail schedules a pod that fits nowhere and returns the result of PostFilter.
func (w *world) fail(pod *corev1.Pod) *fwk.Status {
	w.Helper()
	a := w.try(pod)
	if len(a.fit) > 0 {
		w.Fatalf("the pod fits on %v", a.fit)
	}
	_, status := w.PostFilter(w.Context(), a.state, pod, a.statuses)
	return status
}

// site determines whether a pod fits a node if its exclusions are ignored.
type site struct{ says *fwk.Status }

var (
	free    = site{}
	full    = site{unschedulable()}
	tainted = site{unresolvable()}
)

func (w *world) is(node string, s site) { w.handle.others[node] = s.says }

func TestRelax(t *testing.T) {
	for name, c := range map[string]struct {
		a, b    site // the excluded node, and the other one
		relaxed bool
	}{
		"excluded node free, other node full":                    {free, full, true},
		"excluded node free, other node tainted":                 {free, tainted, true},
		"both full: preemption on the other node comes first":    {full, full, false},
		"excluded node full, other node tainted":                 {full, tainted, true},
		"excluded node tainted, other node full":                 {tainted, full, false},
		"both tainted":                                           {tainted, tainted, false},
		"filter fails for the excluded node, other node tainted": {site{fwk.AsStatus(errUnknown)}, tainted, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "a", "b")
			w.is("a", c.a)
			w.is("b", c.b)
			w.relaxes(makePod("pod", `["a"]`), c.relaxed)
		})
	}
}

// relaxes schedules a pod that fits nowhere and checks whether its exclusions are dropped.
func (w *world) relaxes(pod *corev1.Pod, wanted bool) {
	w.Helper()
	status := w.fail(pod)
	want, activated := fwk.Unschedulable, []string(nil)
	if wanted {
		want, activated = fwk.UnschedulableAndUnresolvable, []string{"default/pod"}
	}
	if status.Code() != want {
		w.Errorf("PostFilter returns %v, which determines whether preemption follows", status.Code())
	}
	if diff := cmp.Diff(activated, w.handle.activated); diff != "" {
		w.Error(diff)
	}
	if got := w.try(pod).status.IsSkip(); got != wanted {
		w.Errorf("the exclusions are dropped: %v", got)
	}
}

func TestRelaxationSendsAnEvent(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.handle.others["b"] = unschedulable()
	w.fail(makePod("pod", `["a"]`))
	got := w.events()
	if len(got) != 1 || !strings.Contains(got[0], "ExclusionsDropped") || !strings.Contains(got[0], "such as a") {
		t.Errorf("got %q", got)
	}
}

func TestPodWithoutExclusionsIsLeftToPreemption(t *testing.T) {
	w := newWorld(t, "a")
	w.handle.others["a"] = unschedulable()
	if status := w.fail(makePod("pod")); status.Code() != fwk.Unschedulable || len(w.handle.activated) > 0 {
		t.Errorf("got %v, activated %v", status.Code(), w.handle.activated)
	}
}

func TestRelaxingEnds(t *testing.T) {
	relaxed := func(t *testing.T) *world {
		w := newWorld(t, "a", "b")
		w.handle.others["b"] = unschedulable()
		w.fail(makePod("pod", `["a"]`))
		return w
	}
	t.Run("after a while", func(t *testing.T) {
		w := relaxed(t)
		w.clock.SetTime(w.clock.Now().Add(relaxedFor + time.Second))
		if w.try(makePod("pod", `["a"]`)).status.IsSkip() {
			t.Error("the exclusions are still dropped")
		}
	})
	t.Run("when the annotation names other nodes", func(t *testing.T) {
		if relaxed(t).try(makePod("pod", `["b"]`)).status.IsSkip() {
			t.Error("the new exclusions are dropped too")
		}
	})
	t.Run("for other pods", func(t *testing.T) {
		if relaxed(t).try(makePod("other", `["a"]`)).status.IsSkip() {
			t.Error("the exclusions of another pod are dropped too")
		}
	})
}

func TestRelaxedPodHasNoSignature(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.handle.others["b"] = unschedulable()
	pod := makePod("pod", `["a"]`)
	w.fail(pod)
	if got, _ := w.SignPod(t.Context(), pod); got != nil {
		t.Errorf("got %v", got)
	}
}

func TestNodesRejectedByOtherPreFiltersDoNotCount(t *testing.T) {
	w := newWorld(t, "a", "b")
	a := w.try(makePod("pod", `["a"]`))
	a.statuses = framework.NewDefaultNodeToStatus() // no filter has run
	a.statuses.SetAbsentNodesStatus(fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "a claim does not exist").WithPlugin("VolumeBinding"))
	_, status := w.PostFilter(t.Context(), a.state, makePod("pod", `["a"]`), a.statuses)
	if status.Code() != fwk.Unschedulable || len(w.handle.activated) > 0 {
		t.Errorf("got %v: the pod would be retried forever", status.Code())
	}
}

func TestDecide(t *testing.T) {
	for name, c := range map[string]struct {
		a, b, other site // a and b are excluded
		why         relaxReason
		node        string
	}{
		"fits on an excluded node, although preemption elsewhere is possible": {free, tainted, full, nothingElseFits, "a"},
		"fits on one excluded node, and by preemption on another":             {full, free, tainted, nothingElseFits, "b"},
		"preemption helps only on an excluded node":                           {tainted, full, tainted, nothingElseCanFit, "b"},
		"preemption helps on both excluded nodes":                             {full, full, tainted, nothingElseCanFit, "a"},
		"preemption also helps on another node, which takes precedence":       {full, full, full, "", ""},
		"fits on no node": {tainted, tainted, tainted, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "a", "b", "other")
			w.is("a", c.a)
			w.is("b", c.b)
			w.is("other", c.other)
			w.decides(makePod("pod", `["a","b","gone"]`), c.why, c.node)
		})
	}
	t.Run("the excluded nodes are deleted", func(t *testing.T) {
		w := newWorld(t, "other")
		w.is("other", full)
		w.decides(makePod("pod", `["gone"]`), "", "")
	})
}

func (w *world) decides(pod *corev1.Pod, wantWhy relaxReason, wantNode string) {
	w.Helper()
	a := w.try(pod)
	why, node, err := w.decide(w.Context(), a.state, pod, cycleOf(a.state).excluded, a.statuses)
	if err != nil || why != wantWhy || node != wantNode {
		w.Errorf("got %q, %q, %v, want %q, %q", why, node, err, wantWhy, wantNode)
	}
}

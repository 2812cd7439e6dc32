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
		w.Fatalf("it fits on %v", a.fit)
	}
	_, status := w.PostFilter(w.Context(), a.state, pod, a.statuses)
	return status
}

// site says why a pod does not fit a node, apart from its exclusions.
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
		"the excluded node has room, the other none":                     {free, full, true},
		"the excluded node has room, the other has a taint":              {free, tainted, true},
		"both are full: preemption on the other comes first":             {full, full, false},
		"the excluded node is full, the other no node for this pod":      {full, tainted, true},
		"the excluded node is no node for this pod either":               {tainted, full, false},
		"no node is one for this pod":                                    {tainted, tainted, false},
		"a filter that cannot tell about the excluded node is no reason": {site{fwk.AsStatus(errUnknown)}, tainted, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "", "a", "b")
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
		w.Errorf("PostFilter says %v, which decides whether preemption comes next", status.Code())
	}
	if diff := cmp.Diff(activated, w.handle.activated); diff != "" {
		w.Error(diff)
	}
	if got := w.try(pod).status.IsSkip(); got != wanted {
		w.Errorf("its exclusions are dropped: %v", got)
	}
}

func TestRelaxationSendsAnEvent(t *testing.T) {
	w := newWorld(t, "", "a", "b")
	w.handle.others["b"] = unschedulable()
	w.fail(makePod("pod", `["a"]`))
	got := w.events()
	if len(got) != 1 || !strings.Contains(got[0], "ExclusionsDropped") || !strings.Contains(got[0], "such as a") {
		t.Errorf("got %q", got)
	}
}

func TestWaitKeepsTheExclusions(t *testing.T) {
	w := newWorld(t, "onExhaustion: Wait", "a", "b")
	w.handle.others["b"] = unschedulable()
	pod := makePod("pod", `["a"]`)
	if status := w.fail(pod); status.Code() != fwk.Unschedulable {
		t.Errorf("preemption elsewhere has to have its turn, not %v", status.Code())
	}
	if w.try(pod).status.IsSkip() {
		t.Error("they are dropped")
	}
}

func TestPodWithoutExclusionsIsLeftToPreemption(t *testing.T) {
	w := newWorld(t, "", "a")
	w.handle.others["a"] = unschedulable()
	if status := w.fail(makePod("pod")); status.Code() != fwk.Unschedulable || len(w.handle.activated) > 0 {
		t.Errorf("got %v, activated %v", status.Code(), w.handle.activated)
	}
}

func TestRelaxingEnds(t *testing.T) {
	relaxed := func(t *testing.T) *world {
		w := newWorld(t, "", "a", "b")
		w.handle.others["b"] = unschedulable()
		w.fail(makePod("pod", `["a"]`))
		return w
	}
	t.Run("after a while", func(t *testing.T) {
		w := relaxed(t)
		w.clock.SetTime(w.clock.Now().Add(relaxedFor + time.Second))
		if w.try(makePod("pod", `["a"]`)).status.IsSkip() {
			t.Error("its exclusions are dropped still")
		}
	})
	t.Run("when the annotation names other nodes", func(t *testing.T) {
		if relaxed(t).try(makePod("pod", `["b"]`)).status.IsSkip() {
			t.Error("the new exclusions are dropped too")
		}
	})
	t.Run("and it is for this pod only", func(t *testing.T) {
		if relaxed(t).try(makePod("other", `["a"]`)).status.IsSkip() {
			t.Error("the exclusions of another pod are dropped too")
		}
	})
}

func TestRelaxedPodHasNoSignature(t *testing.T) {
	w := newWorld(t, "", "a", "b")
	w.handle.others["b"] = unschedulable()
	pod := makePod("pod", `["a"]`)
	w.fail(pod)
	if got, _ := w.SignPod(t.Context(), pod); got != nil {
		t.Errorf("got %v", got)
	}
}

func TestNodesRejectedByOtherPreFiltersDoNotCount(t *testing.T) {
	w := newWorld(t, "", "a", "b")
	a := w.try(makePod("pod", `["a"]`))
	a.statuses = framework.NewDefaultNodeToStatus() // no filter has run
	a.statuses.SetAbsentNodesStatus(fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "a claim does not exist").WithPlugin("VolumeBinding"))
	_, status := w.PostFilter(t.Context(), a.state, makePod("pod", `["a"]`), a.statuses)
	if status.Code() != fwk.Unschedulable || len(w.handle.activated) > 0 {
		t.Errorf("got %v: it would be tried without end", status.Code())
	}
}

func TestDecide(t *testing.T) {
	for name, c := range map[string]struct {
		excluded []candidate
		others   bool
		why      relaxReason
		node     string
	}{
		"it fits on the node it failed on": {
			[]candidate{{"a", now}}, false,
			nothingElseFits, "a",
		},
		"others could be preempted elsewhere, but need not lose their place for a memory": {
			[]candidate{{"a", now}}, true,
			nothingElseFits, "a",
		},
		"a node that has room is better than one that has to be freed": {
			[]candidate{{"a", byPreemption}, {"b", now}}, false,
			nothingElseFits, "b",
		},
		"only a node it failed on can be freed": {
			[]candidate{{"a", never}, {"b", byPreemption}}, false,
			nothingElseCanFit, "b",
		},
		"another node can be freed too, which comes first": {
			[]candidate{{"b", byPreemption}}, true,
			"", "",
		},
		"it fits nowhere at all": {
			[]candidate{{"a", never}}, false,
			"", "",
		},
		"the nodes it failed on are gone": {
			nil, true,
			"", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if why, node := decide(c.excluded, c.others); why != c.why || node != c.node {
				t.Errorf("got %q, %q, want %q, %q", why, node, c.why, c.node)
			}
		})
	}
}

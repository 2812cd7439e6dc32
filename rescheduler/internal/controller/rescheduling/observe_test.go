package rescheduling

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/placement"
	"github.com/holdfast-project/holdfast/rescheduler/internal/policy"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/testing/pods"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

// A pod was moved off node b and now fails on node a.
func TestExcludedNodesDoNotCountAsOtherNodes(t *testing.T) {
	live := memory.Entry{Node: "b", NodeUID: "uid-b", Class: "c", Last: noon, Expires: noon.Add(time.Hour)}
	over, another, ofSlot := live, live, live
	over.Expires, another.NodeUID, ofSlot.Slot = noon, "uid-of-a-node-before", "web-1"
	for name, c := range map[string]struct {
		entry  memory.Entry
		failed bool
		others bool
	}{
		"while node b is excluded":                       {live, false, false},
		"after the exclusion expired":                    {over, false, true},
		"exclusion of a deleted node with the same name": {another, false, true},
		"exclusion for another slot":                     {ofSlot, false, true},
		"failed pod":                                     {live, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			pod := pods.Make("p", noon).Change(func(p *corev1.Pod) {
				p.Annotations[memory.HostsAnnotation] = `["b"]`
				p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: placement.Avoid(nil, []string{"b"}),
				}}
			}).Obj()
			w := newWorld(t, settings.Default(), interceptor.Funcs{}, ready("a"), ready("b"))
			s := w.of(pod, workload("w"))
			s.memory.Entries = []memory.Entry{c.entry}
			f := policy.Facts{Pod: policy.Pod{Failed: c.failed}, Node: policy.Node{Name: "a"}}
			w.ok(w.nodeFacts(t.Context(), s, &f))
			if f.Node.Others != c.others || f.Node.Name != "a" || f.Node.UID != "uid-a" {
				t.Errorf("got %+v", f.Node)
			}
		})
	}
}

// A lower recovery level handles the failure, or a higher one replaces the pod that would be moved.
func TestOtherRecoveryLevelsDelayMove(t *testing.T) {
	deadline := noon.Add(time.Minute)
	for name, c := range map[string]struct {
		level int
		want  time.Time
	}{
		"group that restarts in place": {recovering.LevelGroup, deadline},
		"recreation of Jobs":           {recovering.LevelRecreate, deadline},
		"reset of the workload":        {recovering.LevelReset, deadline},
		"its own recovery level":       {recovering.LevelMove, time.Time{}},
		"deadline has passed":          {recovering.LevelGroup, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			o := workload("w")
			state := recovering.State{Level: c.level, Deadline: deadline}
			o.Annotations = map[string]string{recovering.Annotation: state.Format()}
			w := newWorld(t, settings.Default(), interceptor.Funcs{})
			s := w.of(pods.Make("p", noon).Obj(), o)
			if c.want.IsZero() && c.level == recovering.LevelGroup {
				s.now = deadline
			}
			if got := recoveringUntil(s); !got.Equal(c.want) {
				t.Errorf("until %s, want %s", got, c.want)
			}
		})
	}
}

// The Jobs of a JobSet have one pod each. Pods of the same replicatedJob are siblings, pods of different ones are not.
func TestPodsOfOneReplicatedJobAreSiblings(t *testing.T) {
	first, second, other := workload("job-0"), workload("job-1"), workload("driver")
	in := func(job string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Labels["jobset.sigs.k8s.io/replicatedjob-name"] = job }
	}
	pod := pods.Make("p", noon).Change(owned(first)).Change(in("w")).Obj()
	w := newWorld(t, settings.Default(), interceptor.Funcs{}, pod,
		pods.Make("q", noon).On("b").Change(owned(second)).Change(in("w")).Waiting("CreateContainerError", 0).Obj(),
		pods.Make("d", noon).On("c").Change(owned(other)).Change(in("d")).Waiting("CreateContainerError", 0).Obj())
	s := w.of(pod, first)
	root := workload("set")
	s.chain, s.subject = append(s.chain, root), root
	for _, direct := range []types.UID{first.UID, second.UID, other.UID} {
		w.ownership.add(root.UID, direct)
	}
	c, err := w.census(t.Context(), s)
	w.ok(err)
	want := policy.Siblings{Failing: map[string]bool{"b": true}, Well: map[string]bool{}}
	if diff := cmp.Diff(want, c.siblings(pod, "RuntimeError")); diff != "" {
		t.Error(diff)
	}
}

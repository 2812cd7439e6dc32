package webhook

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/nodes"
	"github.com/holdfast-project/holdfast/rescheduler/internal/owners"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// avoided returns an entry that excludes a node until the given number of minutes after noon.
func avoided(node string, minutes int) memory.Entry {
	return memory.Entry{Node: node, Class: "c", Last: noon, Expires: noon.Add(time.Duration(minutes) * time.Minute)}
}

func readyNodes(n int) (all []corev1.Node) {
	for i := range n {
		all = append(all, ready(fmt.Sprint("n", i)))
	}
	return all
}

func TestExclusionsOfReplacement(t *testing.T) {
	five := memory.Memory{Template: "v1"}
	for i := range 5 {
		five.Entries = append(five.Entries, avoided(fmt.Sprint("n", i), 10+i))
	}
	one := memory.Memory{Template: "v1", SharedWith: []string{"v1b"}, Entries: []memory.Entry{avoided("n1", 10)}}
	for name, c := range map[string]struct {
		memory   memory.Memory
		template string
		failed   string
		want     []string
	}{
		"nodes in the memory of the workload":                         {one, "v1", "", []string{"n1"}},
		"also the node of a failure that is not recorded yet":         {one, "v1", "n7", []string{"n1", "n7"}},
		"no nodes on which another template failed":                   {one, "v2", "", nil},
		"nodes on which a concurrent template failed":                 {one, "v1b", "", []string{"n1"}},
		"the moves of another template are used up":                   {one.Exhaust(), "v2", "n7", []string{"n7"}},
		"too many nodes: the last failure and those that expire last": {five, "v1", "n7", []string{"n1", "n2", "n3", "n4", "n7"}},
		"a deleted node does not count":                               {five, "v1", "n99", []string{"n0", "n1", "n2", "n3", "n4"}},
		"nothing when the moves are used up":                          {one.Exhaust(), "v1", "n7", nil},
		"nothing while exclusions are relaxed":                        {memory.Memory{RelaxedUntil: noon.Add(time.Minute)}, "v1", "n7", nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := handler(settings.Required, readyNodes(10)...)
			h.Clock, h.Failed = testclock.NewFakePassiveClock(noon), &Failures{}
			if c.failed != "" {
				h.Failed.note("uid", failure{node: c.failed, at: noon, ttl: time.Minute})
			}
			owner := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: "uid", Annotations: c.memory.Annotations(noon)}}
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"pod-template-hash": c.template}}}
			got, err := h.excluded(t.Context(), pod, owners.Chain{owner})
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Error(diff, err)
			}
		})
	}
}

// The API server calls the webhook again if another webhook has changed the pod.
func TestSecondCallChangesNothing(t *testing.T) {
	for _, mode := range []settings.Mode{settings.Plugin, settings.Required} {
		h := handler(mode, ready("bad"), ready("good"))
		once := apply(t, h, &corev1.Pod{}, "bad")
		if diff := cmp.Diff(once, apply(t, h, once, "bad")); diff != "" {
			t.Error(mode, diff)
		}
	}
}

// unlisted fails the test if nodes are listed.
type unlisted struct {
	client.Reader
	*testing.T
}

func (u unlisted) List(context.Context, client.ObjectList, ...client.ListOption) error {
	u.Error("nodes were listed")
	return nil
}

// Nearly all pods belong to workloads without exclusions. Listing 5,000 nodes for each of them would create megabytes of garbage.
func TestNodesAreListedOnlyForExclusions(t *testing.T) {
	over := memory.Memory{Entries: []memory.Entry{avoided("n1", -1)}}
	for name, m := range map[string]memory.Memory{
		"workload without memory":           {},
		"workload whose exclusions expired": over,
		"workload that used up its moves":   memory.Memory{Entries: []memory.Entry{avoided("n1", 10)}}.Exhaust(),
		"exclusion for another slot":        {Entries: []memory.Entry{{Node: "n1", Slot: "w-1", Class: "c", Last: noon, Expires: noon.Add(time.Hour)}}},
	} {
		t.Run(name, func(t *testing.T) {
			h := handler(settings.Required)
			h.Clock, h.Failed = testclock.NewFakePassiveClock(noon), &Failures{}
			h.Nodes = nodes.NewLister(unlisted{T: t}, h.Clock)
			owner := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: "uid", Annotations: m.Annotations(noon)}}
			if got, err := h.excluded(t.Context(), &corev1.Pod{}, owners.Chain{owner}); len(got) > 0 || err != nil {
				t.Errorf("excluded %v (%v)", got, err)
			}
		})
	}
}

// liveOwner is an API server with the latest write of another process.
type liveOwner struct {
	client.Reader
	annotations map[string]string
	reads       int
}

func (l *liveOwner) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	l.reads++
	o.SetName(key.Name)
	o.SetUID("uid")
	o.SetAnnotations(l.annotations)
	return nil
}

// The leader writes the failure history and immediately evicts the pod. The other replica, whose cache is behind, may admit the
// replacement.
func TestStandbyReadsMemoryLive(t *testing.T) {
	written := memory.Memory{Entries: []memory.Entry{avoided("n1", 10)}}
	for name, c := range map[string]struct {
		leads bool
		want  []string
		reads int
	}{
		"the leader has its own writes":       {true, nil, 0},
		"a standby reads from the API server": {false, []string{"n1"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			live := &liveOwner{annotations: written.Annotations(noon)}
			h := handler(settings.Required, readyNodes(10)...)
			h.Clock, h.Failed, h.Leads = testclock.NewFakePassiveClock(noon), &Failures{}, func() bool { return c.leads }
			h.Owners = owners.NewResolver(nil, live, testclock.NewFakeClock(noon), owners.NewLedger())
			cached := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "w", UID: "uid"}}
			got, err := h.excluded(t.Context(), &corev1.Pod{}, owners.Chain{cached})
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil || live.reads != c.reads {
				t.Errorf("%s (%v), %d live reads", diff, err, live.reads)
			}
		})
	}
}

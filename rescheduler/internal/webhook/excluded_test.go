package webhook

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/failures"
	"github.com/holdfast-project/holdfast/rescheduler/internal/owners"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// avoided is a node that the workload keeps away from until so many minutes after noon.
func avoided(node string, minutes int) memory.Entry {
	return memory.Entry{Node: node, Class: "c", Last: noon, Expires: noon.Add(time.Duration(minutes) * time.Minute)}
}

func nodes(n int) (all []corev1.Node) {
	for i := range n {
		all = append(all, ready(fmt.Sprint("n", i)))
	}
	return all
}

func TestWhatAReplacementIsKeptAwayFrom(t *testing.T) {
	five := memory.Memory{Template: "v1"}
	for i := range 5 {
		five.Entries = append(five.Entries, avoided(fmt.Sprint("n", i), 10+i))
	}
	one := memory.Memory{Template: "v1", Beside: []string{"v1b"}, Entries: []memory.Entry{avoided("n1", 10)}}
	for name, c := range map[string]struct {
		memory   memory.Memory
		template string
		failed   string
		want     []string
	}{
		"what the workload remembers":                         {one, "v1", "", []string{"n1"}},
		"and where a pod has failed that nobody wrote down":   {one, "v1", "n7", []string{"n1", "n7"}},
		"not what pods of another template failed on":         {one, "v2", "", nil},
		"what pods of a template beside it failed on":         {one, "v1b", "", []string{"n1"}},
		"another template has its moves when one has none":    {one.Exhaust(noon), "v2", "n7", []string{"n7"}},
		"of too many the last failure, and those that last":   {five, "v1", "n7", []string{"n1", "n2", "n3", "n4", "n7"}},
		"a node that does not exist takes nobody's place":     {five, "v1", "n99", []string{"n0", "n1", "n2", "n3", "n4"}},
		"nothing when the moves are used up":                  {one.Exhaust(noon), "v1", "n7", nil},
		"nothing while replacements have found no other node": {memory.Memory{RelaxedUntil: noon.Add(time.Minute)}, "v1", "n7", nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := handler(settings.Required, nodes(10)...)
			h.Clock, h.Failed = testclock.NewFakePassiveClock(noon), &failures.Index{}
			if c.failed != "" {
				h.Failed.Note("uid", failures.Failure{Node: c.failed, At: noon, TTL: time.Minute})
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

// The API server asks again when another webhook has changed the pod.
func TestASecondLookChangesNothing(t *testing.T) {
	for _, mode := range []settings.Mode{settings.Plugin, settings.Required, settings.Preferred} {
		h := handler(mode, ready("bad"), ready("good"))
		once := apply(t, h, &corev1.Pod{}, "bad")
		if diff := cmp.Diff(once, apply(t, h, once, "bad")); diff != "" {
			t.Error(mode, diff)
		}
	}
}

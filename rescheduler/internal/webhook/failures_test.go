package webhook

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
	"github.com/holdfast-project/holdfast/rescheduler/internal/testing/pods"
)

func on(node string) failure { return failure{node: node, at: noon, ttl: time.Hour} }

func TestFailuresExpire(t *testing.T) {
	var x Failures
	x.note("o", on("a"))
	x.note("o", failure{node: "b", slot: "web-0", at: noon, ttl: time.Hour})
	x.note("o", failure{node: "c", at: noon, ttl: time.Second})
	x.note("other", on("d"))
	for name, c := range map[string]struct {
		slot string
		now  time.Time
		want []string
	}{
		"immediately":             {"", noon, []string{"a", "c"}},
		"same slot":               {"web-0", noon, []string{"a", "b", "c"}},
		"another slot":            {"web-1", noon, []string{"a", "c"}},
		"after a short exclusion": {"", noon.Add(time.Second), []string{"a"}},
		"recorded in the memory":  {"web-0", noon.Add(keep), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, x.nodes("o", c.slot, c.now)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFailuresAreLimited(t *testing.T) {
	var x Failures
	for i := range 3 * perOwner {
		x.note("o", on(fmt.Sprint(i)))
	}
	if n := len(x.nodes("o", "", noon)); n != perOwner {
		t.Errorf("%d nodes of one owner", n)
	}
	for i := range 2 * maxOwners {
		f := on("a")
		f.at = noon.Add(time.Duration(i) * time.Second)
		x.note(types.UID(fmt.Sprint(i)), f)
	}
	if n := len(x.byOwner); n > maxOwners {
		t.Errorf("%d owners", n)
	}
}

func owned(p *pods.Pod) *corev1.Pod {
	return p.Change(func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{UID: "o", Kind: "ReplicaSet", Controller: ptr.To(true)}}
	}).Obj()
}

func TestFailedPodsAreRecorded(t *testing.T) {
	rejected := func() *pods.Pod { return pods.Make("p", noon).Rejected("UnexpectedAdmissionError", "no") }
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		want []string
	}{
		"rejected pod":                   {owned(rejected()), []string{"a"}},
		"pod without owner":              {rejected().Obj(), nil},
		"running pod":                    {owned(pods.Make("p", noon)), nil},
		"pod without node":               {owned(rejected().On("")), nil},
		"pod that exceeded its deadline": {owned(pods.Make("p", noon).Rejected("DeadlineExceeded", "")), nil},
		"old failure":                    {owned(pods.Make("p", noon.Add(-time.Hour)).Rejected("UnexpectedAdmissionError", "no")), nil},
		"pod evicted by node pressure":   {owned(pods.Make("p", noon).Rejected("Evicted", "The node was low on resource: memory.")), []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			var x Failures
			x.notePod(c.pod, signals.Default(), testingclock.NewFakePassiveClock(noon))
			if diff := cmp.Diff(c.want, x.nodes("o", "", noon)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

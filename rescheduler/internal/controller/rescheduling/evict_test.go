package rescheduling

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/policy"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/testing/pods"
)

func TestForbiddenEvictionUsesNoBudget(t *testing.T) {
	config := settings.Default()
	config.Limits.Workload = settings.Rate{Burst: 1, Every: metav1.Duration{Duration: time.Hour}}
	pod := pods.Make("p", noon.Add(-time.Hour)).Obj()
	w := newWorld(t, config, refuse(apierrors.NewTooManyRequests("no", 10)), pod)
	s := w.of(pod, workload("w"))
	for range 3 {
		result, err := w.carryOut(t.Context(), s, matched("OOMKilled"), &policy.Decision{Act: policy.Evict, Reason: policy.Moved})
		w.ok(err)
		if result.RequeueAfter != blockedFor {
			t.Fatalf("requeued after %s, want %s", result.RequeueAfter, blockedFor)
		}
	}
}

// A decision that waited for others draws on the budgets at the current time. A bucket would be filled twice if the time went
// backwards.
func TestBudgetsUseCurrentTime(t *testing.T) {
	config := settings.Default()
	config.Limits.Workload = settings.Rate{Burst: 2, Every: metav1.Duration{Duration: 10 * time.Second}}
	w, owner := newWorld(t, config, interceptor.Funcs{}), workload("w")
	w.Reconciler.Clock.(*testclock.FakePassiveClock).SetTime(noon.Add(10 * time.Second))
	granted := 0
	for _, began := range []time.Duration{10 * time.Second, 0, 10 * time.Second} {
		s := w.of(pods.Make("p", noon).On("a").Obj(), owner)
		s.now = noon.Add(began)
		if refund, _, _ := w.take(s.budgetKeys("a")); refund != nil {
			granted++
		}
	}
	if granted != 2 {
		t.Errorf("%d of two moves were granted", granted)
	}
}

// Two nodes fail at once, and only one move is left. The pod whose move was counted is moved before the exclusions are lifted.
func TestChargedMoveIsMadeBeforeExclusionsAreLifted(t *testing.T) {
	owner := workload("w")
	first := pods.Make("first", noon).On("a").Change(owned(owner)).Obj()
	second := pods.Make("second", noon).On("b").Change(owned(owner)).Obj()
	w := newWorld(t, settings.Default(), interceptor.Funcs{}, first, second)
	paid := memory.Memory{Times: 3, Entries: []memory.Entry{{
		Node: "a", Class: "RuntimeError", Count: 1, Last: noon, Expires: noon.Add(time.Hour), Pods: []string{string(first.UID)},
	}}}
	s := w.of(second, owner)
	s.memory = paid
	exhaust := func() time.Duration {
		result, err := w.carryOut(t.Context(), s, matched("RuntimeError"), &policy.Decision{Act: policy.Exhaust, Reason: policy.Exhausted, Memory: paid.Exhaust()})
		w.ok(err)
		return result.RequeueAfter
	}
	if again := exhaust(); again != blockedFor {
		t.Errorf("while the first waits for a budget: requeued after %s", again)
	}
	w.ok(w.Client.Delete(t.Context(), first))
	if again := exhaust(); again != 0 {
		t.Errorf("after the first was moved: requeued after %s", again)
	}
}

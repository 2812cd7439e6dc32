package rescheduling

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/holdfast-project/holdfast/rescheduler/internal/policy"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/testing/pods"
)

func TestAnEvictionThatIsForbiddenDrawsOnNoBudget(t *testing.T) {
	config := settings.Default()
	config.Limits.Workload = settings.Rate{Burst: 1, Every: settings.Duration(time.Hour)}
	pod := pods.Make("p", noon.Add(-time.Hour)).Obj()
	w := newWorld(t, config, refuse(apierrors.NewTooManyRequests("no", 10)), pod)
	s := w.of(pod, workload("w"))
	for range 3 {
		result, err := w.carryOut(t.Context(), s, matched("OOMKilled"), &policy.Decision{Act: policy.Evict, Reason: policy.Moved})
		w.ok(err)
		if result.RequeueAfter != blockedFor {
			t.Fatalf("again after %s, want %s", result.RequeueAfter, blockedFor)
		}
	}
}

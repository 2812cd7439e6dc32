package appwrapper

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/policy"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/settings"
)

// Suspending the AppWrapper ends its reset, no matter how long the suspension lasts.
func TestASuspendedResetEnds(t *testing.T) {
	now := metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	s := &scope{aw: &v1beta2.AppWrapper{}, status: &v1beta2.AppWrapperStatus{Attempts: []v1beta2.Attempt{{Number: 1, EndTime: &now, Reason: "FailedComponent"}}}}
	s.facts = policy.Facts{Now: now.Add(time.Minute), Phase: v1beta2.Resetting, Suspend: true}
	s.recordAttempt(policy.Decide(&s.facts))
	if len(s.status.Attempts) != 2 {
		t.Fatalf("attempts %+v", s.status.Attempts)
	}
	if last := s.status.Attempts[1]; last.Number != 2 || last.Reason != "Suspended" || last.EndTime == nil || !last.EndTime.Equal(&last.StartTime) {
		t.Errorf("the last attempt is %+v", last)
	}
	s.status.Phase = v1beta2.Running
	s.recordAttempt(&policy.Decision{Begins: true})
	if state := recoveringState(s.status, settings.Parameters{}); state != nil {
		t.Errorf("a resumed workload announces a recovery: %+v", state)
	}
}

// Earlier resets no longer count once the attempt has been ready for some time. Time after the attempt has stopped
// being ready is not included.
func TestReadyFor(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	since := metav1.NewTime(now.Add(-25 * time.Hour))
	ready := &v1beta2.AppWrapper{Status: v1beta2.AppWrapperStatus{Attempts: []v1beta2.Attempt{{}, {ReadyTime: &since}}}}
	for name, c := range map[string]struct {
		aw       *v1beta2.AppWrapper
		ready    bool
		notReady time.Time
		want     time.Duration
	}{
		"ready":                    {ready, true, time.Time{}, 25 * time.Hour},
		"a pod failed an hour ago": {ready, false, now.Add(-time.Hour), 24 * time.Hour},
		"never ready":              {&v1beta2.AppWrapper{Status: v1beta2.AppWrapperStatus{Attempts: []v1beta2.Attempt{{}}}}, false, now, 0},
		"no attempt":               {&v1beta2.AppWrapper{}, false, time.Time{}, 0},
	} {
		if got := readyFor(c.aw, c.ready, c.notReady, now); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

package appwrapper

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
)

// Earlier resets stop counting after the attempt has been ready for some time. That time ends when the attempt stops
// being ready.
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
		"one that is ready":             {ready, true, time.Time{}, 25 * time.Hour},
		"one of which a pod has failed": {ready, false, now.Add(-time.Hour), 24 * time.Hour},
		"one that never was":            {&v1beta2.AppWrapper{Status: v1beta2.AppWrapperStatus{Attempts: []v1beta2.Attempt{{}}}}, false, now, 0},
		"none":                          {&v1beta2.AppWrapper{}, false, time.Time{}, 0},
	} {
		if got := readyFor(c.aw, c.ready, c.notReady, now); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

package rescheduling

import (
	"testing"
	"time"

	"k8s.io/utils/lru"
)

func TestEndOfAwaitedRecoveryIsReportedOnce(t *testing.T) {
	d, later := &observationTimes{lru.New(noted)}, noon.Add(time.Minute)
	if at := d.recovered("p", time.Time{}, noon); !at.IsZero() {
		t.Errorf("without a wait, the end was reported at %s", at)
	}
	d.markRecovering("p")
	for _, step := range []struct {
		what             string
		until, now, want time.Time
	}{
		{"still recovering", later, noon, time.Time{}},
		{"recovered", time.Time{}, later, later},
		{"recovered a minute ago", time.Time{}, later.Add(time.Minute), later},
	} {
		if at := d.recovered("p", step.until, step.now); !at.Equal(step.want) {
			t.Errorf("%s: %s, want %s", step.what, at, step.want)
		}
	}
	d.markRecovering("p") // for another recovery
	if at := d.recovered("p", time.Time{}, later.Add(time.Hour)); !at.Equal(later.Add(time.Hour)) {
		t.Errorf("the end of the second one was reported at %s", at)
	}
}

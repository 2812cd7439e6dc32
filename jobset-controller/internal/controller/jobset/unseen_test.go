package jobset

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
)

func shownJob(uid types.UID, version string) batchv1.Job {
	return batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: uid, ResourceVersion: version}}
}

// What a pass may take the cache's word for, after something was written to Job "a".
func TestUnseen(t *testing.T) {
	const created = ""
	for name, c := range map[string]struct {
		version string // that was written over; created: there was none
		shown   []batchv1.Job
		after   time.Duration
		hidden  bool
	}{
		"a Job that was created is not there yet":              {created, nil, 0, true},
		"a Job that was created is there":                      {created, []batchv1.Job{shownJob("u", "7")}, 0, false},
		"the one before a Job that was created still is":       {created, []batchv1.Job{shownJob("old", "3")}, 0, true},
		"a Job that was created does not come":                 {created, nil, unseenFor, false},
		"a Job that was changed is as it was":                  {"7", []batchv1.Job{shownJob("u", "7")}, 0, true},
		"a Job that was changed is as it was for too long":     {"7", []batchv1.Job{shownJob("u", "7")}, unseenFor, false},
		"a Job that was changed has changed":                   {"7", []batchv1.Job{shownJob("u", "8")}, 0, false},
		"a Job that was deleted is gone: another one may come": {"7", nil, 0, false},
		"a Job that was deleted has a successor":               {"7", []batchv1.Job{shownJob("new", "9")}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			clock := testingclock.NewFakePassiveClock(time.Unix(1e9, 0))
			u := newUnseen(clock)
			job := shownJob("u", c.version)
			u.written("js", &job, c.version)
			clock.SetTime(clock.Now().Add(c.after))
			if got := u.settle("js", c.shown)["a"]; got != c.hidden {
				t.Errorf("hidden: %t", got)
			}
			if !c.hidden && len(u.writes) > 0 {
				t.Errorf("remembered for ever: %v", u.writes)
			}
			if got := u.settle("other", nil); len(got) > 0 {
				t.Errorf("another JobSet: %v", got)
			}
		})
	}
}

// JobSets are deleted while something is remembered of them.
func TestUnseenDoesNotGrow(t *testing.T) {
	clock := testingclock.NewFakePassiveClock(time.Unix(1e9, 0))
	u := newUnseen(clock)
	for i := range 1000 {
		job := shownJob("u", "")
		u.written(types.UID(fmt.Sprint("js-", i)), &job, "")
		clock.SetTime(clock.Now().Add(unseenFor / 10))
	}
	if len(u.writes) > 20 {
		t.Errorf("%d JobSets are remembered", len(u.writes))
	}
}

package jobset

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
)

// The status of a JobSet with 4 Jobs has just been written, and has changed again.
func TestProgressDelay(t *testing.T) {
	type counts = v1alpha2.ReplicatedJobStatus
	for name, c := range map[string]struct {
		old, now counts
		change   func(*v1alpha2.JobSetStatus)
		suspend  bool
		after    time.Duration
		wait     time.Duration
	}{
		"Jobs start":                                      {old: counts{Active: 1}, now: counts{Active: 2, Ready: 1}, wait: progressInterval},
		"Jobs start within the interval":                  {old: counts{Active: 1}, now: counts{Active: 2}, after: progressInterval - 1, wait: 1},
		"Jobs start after the interval":                   {old: counts{Active: 1}, now: counts{Active: 2}, after: progressInterval},
		"the first Job starts":                            {old: counts{Suspended: 4}, now: counts{Active: 1, Suspended: 3}, wait: progressInterval},
		"all Jobs are active":                             {old: counts{Active: 3}, now: counts{Active: 4}, wait: progressInterval},
		"all Jobs are ready":                              {old: counts{Active: 4, Ready: 3}, now: counts{Active: 4, Ready: 4}},
		"no Job is active any more":                       {old: counts{Active: 1}, now: counts{}, wait: progressInterval},
		"no Job of a suspended JobSet is active any more": {old: counts{Active: 1, Suspended: 4}, now: counts{Suspended: 4}, suspend: true},
		"a failed Job is deleted":                         {old: counts{Active: 3, Failed: 1}, now: counts{Active: 3}, wait: progressInterval},
		"all Jobs are suspended":                          {old: counts{Active: 4, Suspended: 3}, now: counts{Active: 4, Suspended: 4}, wait: progressInterval},
		"the JobSet waits for something else": {old: counts{Active: 1}, now: counts{Active: 2}, wait: progressInterval, change: func(s *v1alpha2.JobSetStatus) {
			s.Conditions[0].Reason, s.Conditions[0].Message = "WaitingForJobs", "not all jobs are ready yet"
		}},
		"it runs": {old: counts{Active: 1}, now: counts{Active: 2}, change: func(s *v1alpha2.JobSetStatus) {
			s.Conditions[0] = isTrue(v1alpha2.JobSetRunning, "AllJobsReady")
		}},
		"Jobs are resumed":           {old: counts{Suspended: 4}, now: counts{Suspended: 1}, wait: progressInterval},
		"a Job has succeeded":        {old: counts{Active: 4}, now: counts{Active: 3, Succeeded: 1}},
		"a Job has failed":           {old: counts{Active: 4}, now: counts{Active: 3, Failed: 1}},
		"the JobSet was restarted":   {old: counts{Active: 4}, now: counts{Active: 3}, change: func(s *v1alpha2.JobSetStatus) { s.Restarts++ }},
		"a single Job was restarted": {old: counts{Active: 4}, now: counts{Active: 3, JobRestarts: []int32{1}}},
		"a condition has changed": {old: counts{Active: 1}, now: counts{Active: 2}, change: func(s *v1alpha2.JobSetStatus) {
			s.Conditions = append(s.Conditions, isTrue(v1alpha2.JobSetSuspended, "r"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			clock := testingclock.NewFakePassiveClock(time.Unix(1e9, 0))
			r := New(Options{Clock: clock})
			js := MakeJobSet("a").Entry("w", 4).Suspend(c.suspend).Obj()
			c.old.Name, c.now.Name = "w", "w"
			js.Status.ReplicatedJobsStatus = []counts{c.old}
			js.Status.Conditions = []metav1.Condition{isFalse(v1alpha2.JobSetRunning, "WaitingForDeletion")}
			now := js.Status.DeepCopy()
			now.ReplicatedJobsStatus = []counts{c.now}
			if c.change != nil {
				c.change(now)
			}
			if got := r.progressDelay(js, now); got != 0 {
				t.Errorf("a status that was never written waits %s", got)
			}
			r.written.Add(js.UID, clock.Now())
			clock.SetTime(clock.Now().Add(c.after))
			if got := r.progressDelay(js, now); got != c.wait {
				t.Errorf("waits %s, want %s", got, c.wait)
			}
		})
	}
}

// Hundreds of JobSets that start at once share the rate limit for progress writes. Changes that other programs act on
// are not delayed by it.
func TestJobSetsShareTheRateOfProgressWrites(t *testing.T) {
	clock := testingclock.NewFakePassiveClock(time.Unix(1e9, 0))
	r := New(Options{Clock: clock})
	type counts = v1alpha2.ReplicatedJobStatus
	at := func(s counts) *v1alpha2.JobSetStatus {
		s.Name = "w"
		return &v1alpha2.JobSetStatus{ReplicatedJobsStatus: []counts{s}}
	}
	written := func(now counts) (n int) {
		for i := range 200 {
			js := MakeJobSet("a").Entry("w", 4).Obj()
			js.UID, js.Status = types.UID(fmt.Sprint(i)), *at(counts{Active: 1})
			r.written.Add(js.UID, clock.Now().Add(-progressInterval))
			if r.progressDelay(js, at(now)) == 0 {
				n++
			}
		}
		return n
	}
	for second := range 3 {
		if got := written(counts{Active: 2}); got != progressRate {
			t.Errorf("second %d: %d writes of progress, want %d", second, got, progressRate)
		}
		if got := written(counts{Active: 4, Ready: 4}); got != 200 {
			t.Errorf("second %d: %d writes of JobSets that are ready, want all 200", second, got)
		}
		clock.SetTime(clock.Now().Add(time.Second))
	}
}

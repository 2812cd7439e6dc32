package leader

import (
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// waiting returns a settled scene with a restart that began the given time ago and is waiting for the worker in slot 3.
func waiting(since time.Duration, change func(*scene)) *scene {
	return settled(func(s *scene) {
		s.Stored.State = rounds.Fresh(level("A 1 0/1"), 1)
		s.Stored.Joined = []int64{7}
		s.Reads.Missing, s.Reads.MissingLevel = map[int][]string{0: {"js-w-0-3"}}, s.Stored.State.Level
		s.memory.restart = &restartMemory{Round: Round{2, 1}, since: now.Add(-since)}
		s.memory.accounted = s.Stored.State.Level
		lose(3)(s)
		marked(s)
		change(s)
	})
}

// plans returns the plans of one reconcile. Each plan gets the reads that it requests, and all actions succeed.
func (s *scene) plans() []Plan {
	var all []Plan
	for range 20 {
		plan := s.decide()
		all = append(all, plan)
		if !plan.Acts() {
			break
		}
		s.answer(plan)
		for _, a := range plan.Actions {
			switch a := a.(type) {
			case WriteGroup:
				s.Stored.State, s.Stored.Config = a.State, a.Config
			case Release:
				s.Stored.Config.Fenced = append(s.Stored.Config.Fenced, a.Pod)
			}
			s.Record(&s.memory, a, Result{})
		}
	}
	return all
}

func deletedJob(plans []Plan) string {
	for _, plan := range plans {
		for _, a := range plan.Actions {
			if d, is := a.(DeleteJob); is {
				return d.Why
			}
		}
	}
	return ""
}

// If a worker exits with code 0 when its pod is deleted, its Job counts that as a success and does not create another pod.
func TestALostPodThatExitedZeroIsNotFinished(t *testing.T) {
	completed := func(s *scene) {
		s.Jobs[0].Completed = workload.Indexes{{3, 3}}
		s.Owner.Wanted.Finished = []string{"js-w-0-3"}
	}
	lost := waiting(time.Second, func(s *scene) {
		completed(s)
		s.memory.seen.release(2, rounds.Slot{Name: "js-w-0-3", Pod: "uid3"})
	})
	plans := lost.plans()
	if lost.Stored.State.Started != 0 || deletedJob(plans) == "" {
		t.Errorf("a lost pod: %d units started, deletes a Job because %q; the last plan is %+v", lost.Stored.State.Started, deletedJob(plans), plans[len(plans)-1])
	}
	finished := waiting(time.Second, completed)
	first := finished.decide()
	if w, is := first.Actions[0].(WriteGroup); !is || w.Reason != group.Knows {
		t.Errorf("a finished worker: the first plan is %+v", first)
	}
}

func TestAJobIsNotRecreatedForASlotThatHasJustGotAPod(t *testing.T) {
	for refused, recreates := range map[string]bool{"": false, "exceeded quota": true} {
		s := waiting(55*time.Second, func(s *scene) {
			s.Record(&s.memory, CreatePod{Slot: "js-w-0-3", Round: Round{2, 1}}, Result{Refused: refused, Pod: pod(3)})
		})
		if why := deletedJob(s.plans()); (why != "") != recreates {
			t.Errorf("after a creation with refusal %q, the Job is deleted because %q", refused, why)
		}
	}
}

// A death ends the round of the recovery, but workers in assigned slots may not have rejoined yet.
func TestSlotsAreNotGivenSoonAfterALostStore(t *testing.T) {
	for since, gives := range map[time.Duration]bool{time.Second: false, 2 * collectFor: true} {
		s := withSpares(func(s *scene) { s.memory.recoveredAt = now.Add(-since) })
		if p := newPlanner(&s.Observation, &s.memory, now); p.gives() != gives {
			t.Errorf("%s after the recovery, slots are assigned: %t", since, p.gives())
		}
	}
	reset := withSpares(func(s *scene) { s.memory.seq = s.Stored.State.Seq + 1 })
	if p := newPlanner(&reset.Observation, &reset.memory, now); p.gives() {
		t.Error("slots are assigned right after the store was reset to an earlier state")
	}
	s := withSpares(nil)
	s.Record(&s.memory, WriteGroup{Write: group.Write{Reason: group.Opens, State: rounds.Fresh(level("A 1 0/1"), 1)}}, Result{})
	if s.memory.recoveredAt != now {
		t.Error("the recovery is not remembered")
	}
}

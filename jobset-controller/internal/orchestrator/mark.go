package orchestrator

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

// recreationTime is how long higher rungs leave a recreation alone that does not end: what an AppWrapper gives pods to run.
const recreationTime = 5 * time.Minute

// mark is the annotation that asks other rungs of the ladder to wait while a round is being restarted. Without one it is
// what takes ours away; a mark of another program is not ours.
func (s *scope) mark(set bool) map[string]string {
	if !set {
		if s.marked() == leader.Unmarked {
			return map[string]string{}
		}
		return map[string]string{recovering.Annotation: ""}
	}
	state := recovering.State{Rung: s.rung(), Reason: causeText(s.group.Record.Cause), Deadline: s.clock.Start.Add(s.clock.Period)}
	if recovering.Release(s.js.Annotations, recovering.RungRecreate) { // ours: the recreation is over, and a worker has died already
		return map[string]string{recovering.Annotation: state.Format()}
	}
	return s.place(state)
}

// markRecreation says that all Jobs are being recreated: their pods come and go, and no pod of them has failed.
func (s *scope) markRecreation(old group.Summary) map[string]string {
	return s.place(recovering.State{Rung: recovering.RungRecreate, Reason: failOverText(s, old), Deadline: s.now.Add(recreationTime)})
}

func (s *scope) place(state recovering.State) map[string]string {
	value, write := recovering.Place(s.js.Annotations, state, s.now)
	if !write {
		return map[string]string{}
	}
	return map[string]string{recovering.Annotation: value}
}

// rung on which this group restarts: that of processes if all agents are supervisors.
func (s *scope) rung() int {
	if slices.ContainsFunc(s.jobs, func(job batchv1.Job) bool { return inplace.HasSidecar(&job.Spec.Template.Spec) }) {
		return recovering.RungGroup
	}
	return recovering.RungProcess
}

// marked tells whether the JobSet carries the mark of a restart. A deadline that has passed is one of an earlier round, or of a leader
// whose clock for this round began earlier. The mark of a recreation is let be until its workers have formed the group.
func (s *scope) marked() leader.Mark {
	if _, found := s.js.Annotations[recovering.Annotation]; !found {
		return leader.Unmarked
	}
	state, readable := recovering.Of(s.js.Annotations)
	restarting := s.group != nil && s.group.Phase == coordination.Restarting
	switch {
	case !readable:
		return leader.Outdated
	case state.Rung == recovering.RungRecreate && (!s.recreating() || !state.Live(s.now)):
		return leader.Outdated
	case state.Rung > recovering.RungRecreate && restarting && state.Live(s.now):
		return leader.Marked // somebody above replaces the whole workload: this restart is part of that
	case !recovering.Release(s.js.Annotations, recovering.RungProcess, recovering.RungGroup):
		return leader.Unmarked
	case !state.Live(s.now):
		return leader.Outdated
	}
	return leader.Marked
}

// recreating: workers of the new epoch are still to join.
func (s *scope) recreating() bool {
	if s.group == nil {
		return s.undecided
	}
	return s.group.Phase == coordination.Forming || s.group.Phase == coordination.Recreating
}

package orchestrator

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
)

// stages of the group, or why there are none. The manager says by the first Job of an attempt whether it adds agents; until
// then, as between the deletion of all Jobs and their recreation, nobody knows, and the group stays as it is.
func (s *scope) stages(jobs []*batchv1.Job) (stages []coordination.Stage, refused string) {
	agents := inject.Assess(s.js)
	s.undecided = len(jobs) == 0 && agents.Adds() && len(agents.Problems) == 0
	if s.undecided {
		return s.stagesThatAre(), ""
	}
	stages = inplace.Stages(s.js, jobs, inject.Carriers(s.js, agents, jobs))
	if refused = tooLarge(stages); refused != "" {
		return nil, refused
	}
	return stages, whyNone(agents)
}

func (s *scope) stagesThatAre() []coordination.Stage {
	if s.group == nil {
		return nil
	}
	return s.group.Stages
}

func tooLarge(stages []coordination.Stage) string {
	if n := slotsOf(stages); n > maxSlots {
		return fmt.Sprintf("%d workers are more than the %d that a group can have", n, maxSlots)
	}
	if err := group.Fits(stages); err != nil {
		return err.Error()
	}
	return ""
}

// whyNone says why no pod has an agent, if none has.
func whyNone(agents inject.Assessment) string {
	switch {
	case len(agents.Problems) > 0:
		return "no agent can be added to the pods: " + agents.Problems[0].Error()
	case agents.Adds():
		return "the Jobs were created without agents; they get some when they are recreated, if the manager is set up to add any"
	}
	return "no pod of this JobSet has an agent"
}

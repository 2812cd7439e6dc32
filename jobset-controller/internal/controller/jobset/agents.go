package jobset

import (
	"slices"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
)

// Event reasons for added agents.
const (
	inPlaceRefused       = "InPlaceNotPossible"   // the JobSet cannot have agents
	inPlaceNotConfigured = "InPlaceNotConfigured" // the manager does not know what to add
	inPlaceDoubtful      = "InPlaceDoubtful"      // a setting impedes in-place restarts
	sparesLater          = "SparesLater"          // running workers were created without spares
)

// agents are the agents of a JobSet that requests in-place restarts.
type agents struct {
	assessment inject.Assessment
	plan       inject.Plan
	lacks      string // see inject.Settings.Lacks
}

func (s *scope) planAgents(settings inject.Settings) {
	if !s.inPlace.Enabled {
		return
	}
	assessment := inject.Assess(s.jobSet)
	current := slices.Concat(s.jobs.Active, s.jobs.Succeeded, s.jobs.Failed)
	s.agents = agents{
		assessment: assessment,
		plan:       inject.For(assessment, current, settings),
		lacks:      settings.Lacks(assessment),
	}
}

// builder returns the builder of the Jobs of this attempt.
func (s *scope) builder() *plan.Builder {
	return plan.NewBuilder(s.jobSet, s.epoch).Adding(s.agents.plan).CountingSingleRestarts(s.features.RestartJob)
}

// reportAgents warns about what prevents in-place restarts. The Jobs run without them.
func (r *Reconciler) reportAgents(s *scope) {
	for _, warning := range s.agents.assessment.Warnings {
		r.report.warnOnce(s.jobSet, inPlaceDoubtful, warning, warning)
	}
	for i := range s.jobSet.Spec.ReplicatedJobs {
		if rjob := s.jobSet.Spec.ReplicatedJobs[i].Name; s.agents.plan.Spares(i) > 0 && !s.hasSpares(rjob) {
			r.report.warnOnce(s.jobSet, sparesLater, rjob, "the workers of replicatedJob "+rjob+" run without spares; it gets some when its Jobs are recreated")
		}
	}
	if s.agents.lacks != "" {
		r.report.warnOnce(s.jobSet, inPlaceNotConfigured, s.agents.lacks, s.agents.lacks+"; the jobs run without in-place restarts")
		return
	}
	for _, problem := range s.agents.assessment.Problems {
		r.report.warnOnce(s.jobSet, inPlaceRefused, problem.Error(), problem.Error()+"; the jobs run without in-place restarts")
	}
}

package boards

import "github.com/holdfast-project/holdfast/shared/series"

// Reliability shows whether jobs are training, and how much time they lose to which failures.
func Reliability() Board {
	return Board{
		UID: "holdfast-reliability", File: "reliability.json", Title: "Holdfast: training reliability",
		Description: "What training loses to failures, and what answers them",
		Rows:        []Row{summary(), cost(), restarts(), repairs(), jobSets(), elastic(), moves()},
	}
}

func summary() Row {
	running, lost := total(series.RunningWorkerSeconds.Name), total(series.LostWorkerSeconds.Name)
	return Row{"At a glance", []Panel{
		number("Goodput", "Of the workers' time in groups that restart in place, the share in which all of their group ran.", Share,
			running+" / ("+running+" + "+lost+")"),
		number("Restarts", "Of groups and of whole JobSets, in the time shown.", Count, total(series.Restarts.Name)),
		number("Worker time lost", "Workers times seconds from failures until all ran again, in the time shown.", Seconds, lost),
		number("Workers out of sync", "Workers that groups wait for at this moment.", Count, "sum("+from(series.OutOfSync.Name)+")"),
	}}
}

func cost() Row {
	outages := perSecond("kind", series.RestartDuration.Count(), `phase="detect"`)
	parts := perSecond("phase", series.RestartDuration.Count())
	return Row{"What failures cost", []Panel{
		stacked("Workers that do not train, by cause", "Worker seconds lost each second: as many workers as stand still on average.", PerSeconds,
			named("cause", perSecond("cause", series.LostWorkerSeconds.Name))),
		lines("Outage, on average", "From a failure until all workers run again.", Seconds,
			named("kind", mean("kind", series.RestartDuration.Sum(), outages))),
		stacked("Outage by phase", "Where the time of a restart goes, on average: see docs/in-place-restart.md.", Seconds,
			named("phase", mean("phase", series.RestartDuration.Sum(), parts))),
		lines("Start of the last worker, 90th percentile", "From the order, or in a recreation from the last old worker's end, until all workers run.", Seconds,
			named("kind", quantile("0.9", "kind", series.RestartDuration.Bucket(), `phase="start"`))),
		lines("Workers out of sync", "Workers that groups wait for. Minutes above zero: a slot does not come back.", Count,
			Query{"sum(" + from(series.OutOfSync.Name) + ")", "workers"}),
	}}
}

func restarts() Row {
	return Row{"Restarts", []Panel{
		stacked("By reason", "What made restarts necessary.", Count, named("reason", grown("reason", series.Restarts.Name))),
		stacked("By kind", "In place, or by recreation of all Jobs.", Count, named("kind", grown("kind", series.Restarts.Name))),
		stacked("Against the budget", "Those that count towards maxRestarts, and those that do not.", Count,
			named("counted", grown("counted", series.Restarts.Name))),
		lines("Budget used", "By the JobSet that is nearest to its last restart. 1: its next failure is its last.", Share,
			Query{"max(" + from(series.RestartBudgetUsed.Name) + ")", "nearest to its end"}),
		stacked("In place, by outcome", "Overtaken: another failure came first. Abandoned: a recreation follows.", Count,
			named("outcome", grown("outcome", series.Rounds.Name))),
		lines("Out of time", "Restarts that did not end within inplace-timeout.", Count, Query{grown("namespace", series.Timeouts.Name), "restarts"}),
		stacked("Groups by phase", "Groups that restart in place, by what they do now.", Count, named("phase", summed("phase", series.Groups.Name))),
	}}
}

func repairs() Row {
	return Row{"Repairs of single workers", []Panel{
		stacked("Recreated because a worker did not join", "Cheaper repairs first: a pod, then its Job, then the group.", Count,
			named("scope", grown("scope", series.Escalations.Name))),
		lines("Workers that have not joined", "Before a group runs for the first time, and after a recreation: workers that are waited for, failures before the first join, groups that ran out of time.", Count,
			Query{summed("waits_for", series.WaitingToJoin.Name), "waiting: {{waits_for}}"},
			Query{grown("namespace", series.EarlyFailures.Name), "failed before they joined"},
			Query{grown("namespace", series.FormingTimeouts.Name), "out of time"}),
		lines("Lost pods", "Slots released, pods created again by the leader, pods deleted by force.", Count,
			Query{grown("namespace", series.Evictions.Name), "slots released"},
			Query{grown("namespace", series.Replacements.Name), "created again"},
			Query{grown("namespace", series.ForcedDeletions.Name), "deleted by force"}),
		lines("Workers that train", "Workers in groups that are in sync.", Count,
			Query{perSecond("namespace", series.RunningWorkerSeconds.Name), "workers"}),
	}}
}

func jobSets() Row {
	return Row{"JobSets", []Panel{
		lines("Finished", "JobSets that have completed, and that have failed by reason.", Count,
			Query{grown("namespace", series.JobSetsCompleted.Name), "completed"},
			named("reason", grown("reason", series.JobSetsFailed.Name))),
		stacked("Recreations by the failure policy", "Whether they count towards maxRestarts.", Count,
			Query{grown("counted", series.JobSetRestarts.Name), "counted: {{counted}}"}),
		stacked("Single Jobs recreated", "By rules with the action RestartJob.", Count,
			Query{grown("counted", series.JobRestarts.Name), "counted: {{counted}}"}),
	}}
}

func elastic() Row {
	return Row{"ElasticJobs", []Panel{
		stacked("Workers that ended early", "By what ended them: their program, or a disruption of the cluster.", Count,
			named("cause", grown("cause", series.WorkersEnded.Name))),
		lines("Replaced and abandoned", "Pods that were created, and workers that are no longer replaced: their jobs continue without them.", Count,
			Query{grown("namespace", series.ElasticPodsCreated.Name), "pods created"},
			Query{grown("namespace", series.WorkersAbandoned.Name), "abandoned"}),
		stacked("Finished", "ElasticJobs by their last condition.", Count, named("outcome", grown("outcome", series.ElasticFinished.Name))),
	}}
}

func moves() Row {
	return Row{"Pods moved to other nodes", []Panel{
		stacked("Decisions", "About abnormal pods, by reason: see docs/rescheduler.md.", Count, named("reason", grown("reason", series.Decisions.Name))),
		stacked("Moves", "Attempts, by outcome. Blocked: by a PodDisruptionBudget.", Count, named("outcome", grown("outcome", series.Moves.Name))),
		lines("Until there is another node", "From the failure to a replacement with a node.", Seconds,
			Query{quantile("0.5", "", series.ReplacementDuration.Bucket()), "median"},
			Query{quantile("0.9", "", series.ReplacementDuration.Bucket()), "90th percentile"}),
		lines("Brakes", "The breaker is open (1) while too much was moved; nodes that pods speak against are tainted.", Count,
			Query{"max(" + from(series.BreakerOpen.Name) + ")", "breaker"}, Query{"max(" + from(series.TaintedNodes.Name) + ")", "tainted nodes"}),
		stacked("Pods asked about", "At admission, by whether they are kept away from nodes; and those that got it later.", Count,
			named("result", grown("result", series.Admissions.Name)), Query{grown("namespace", series.FilledPods.Name), "filled later"}),
		lines("Exclusions that were dropped", "The scheduler goes on without them when a pod would fit nowhere, or nobody can read them.", Count,
			Query{grown("reason", series.ExclusionsIgnored.Name), "ignored: {{reason}}"},
			Query{grown("reason", series.PodsRelaxed.Name), "relaxed: {{reason}}"},
			Query{grown("result", series.AnnotationsCleared.Name), "cleared: {{result}}"}),
	}}
}

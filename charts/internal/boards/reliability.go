package boards

import "github.com/holdfast-project/holdfast/shared/series"

// Reliability shows whether jobs are training, and how much time they lose to which failures.
func Reliability() Board {
	return Board{
		UID: "holdfast-reliability", File: "reliability.json", Title: "Holdfast: training reliability",
		Description: "What training loses to failures, and how they are handled",
		Rows:        []Row{summary(), cost(), restarts(), repairs(), jobSets(), elastic(), moves()},
	}
}

func summary() Row {
	running, lost := total(series.RunningWorkerSeconds.Name), total(series.LostWorkerSeconds.Name)
	return Row{"At a glance", []Panel{
		number("Goodput", "Share of the workers' time in which all workers of their group ran. Only groups with in-place restarts.", Share,
			running+" / ("+running+" + "+lost+")"),
		number("Restarts", "Restarts of groups and of whole JobSets in the selected time range.", Count, total(series.Restarts.Name)),
		number("Worker time lost", "Worker-seconds from failures until all workers ran again, in the selected time range.", Seconds, lost),
		number("Workers out of sync", "Workers that groups are waiting for now.", Count, "sum("+from(series.OutOfSync.Name)+")"),
	}}
}

func cost() Row {
	outages := perSecond("kind", series.RestartDuration.Count(), `phase="detect"`)
	parts := perSecond("phase", series.RestartDuration.Count())
	return Row{"Cost of failures", []Panel{
		stacked("Idle workers, by cause", "Worker-seconds lost per second, which is the average number of workers that do not train.", PerSeconds,
			named("cause", perSecond("cause", series.LostWorkerSeconds.Name))),
		lines("Average outage", "Time from a failure until all workers run again.", Seconds,
			named("kind", mean("kind", series.RestartDuration.Sum(), outages))),
		stacked("Outage by phase", "Average duration of each phase of a restart. See docs/in-place-restart.md.", Seconds,
			named("phase", mean("phase", series.RestartDuration.Sum(), parts))),
		lines("Start of the last worker, 90th percentile", "Time until all workers run, from the restart order or, in a recreation, from the end of the last old worker.", Seconds,
			named("kind", quantile("0.9", "kind", series.RestartDuration.Bucket(), `phase="start"`))),
		lines("Workers out of sync", "Workers that groups are waiting for. If this stays above zero for minutes, a worker does not come back.", Count,
			Query{"sum(" + from(series.OutOfSync.Name) + ")", "workers"}),
	}}
}

func restarts() Row {
	return Row{"Restarts", []Panel{
		stacked("By reason", "Restarts by cause.", Count, named("reason", grown("reason", series.Restarts.Name))),
		stacked("By kind", "In-place restarts, and recreations of all Jobs.", Count, named("kind", grown("kind", series.Restarts.Name))),
		stacked("Counted restarts", "Restarts that count towards maxRestarts, and others.", Count,
			named("counted", grown("counted", series.Restarts.Name))),
		lines("Budget used", "Largest share of maxRestarts that a JobSet has used. At 1, the next failure is final.", Share,
			Query{"max(" + from(series.RestartBudgetUsed.Name) + ")", "largest share"}),
		stacked("In-place restarts by outcome", "Overtaken: another failure came first. Abandoned: a recreation follows.", Count,
			named("outcome", grown("outcome", series.Rounds.Name))),
		lines("Timeouts", "In-place restarts that did not end within inplace-timeout.", Count, Query{grown("namespace", series.Timeouts.Name), "restarts"}),
		stacked("Groups by phase", "Groups with in-place restarts, by phase.", Count, named("phase", summed("phase", series.Groups.Name))),
	}}
}

func repairs() Row {
	return Row{"Repairs of single workers", []Panel{
		stacked("Recreated because a worker did not join", "A pod is recreated first, then its Job, then the whole group.", Count,
			named("scope", grown("scope", series.Escalations.Name))),
		lines("Workers that have not joined", "While a group forms: workers that it is waiting for, failures before the first join, and groups that timed out.", Count,
			Query{summed("waits_for", series.WaitingToJoin.Name), "waiting: {{waits_for}}"},
			Query{grown("namespace", series.EarlyFailures.Name), "failed before they joined"},
			Query{grown("namespace", series.FormingTimeouts.Name), "timed out"}),
		lines("Lost pods", "Slots that were released, pods that the leader recreated, and pods that were force-deleted.", Count,
			Query{grown("namespace", series.Evictions.Name), "slots released"},
			Query{grown("namespace", series.Replacements.Name), "recreated"},
			Query{grown("namespace", series.ForcedDeletions.Name), "force-deleted"}),
		lines("Training workers", "Workers in groups that are in sync.", Count,
			Query{perSecond("namespace", series.RunningWorkerSeconds.Name), "workers"}),
	}}
}

func jobSets() Row {
	return Row{"JobSets", []Panel{
		lines("Finished", "JobSets that completed, and JobSets that failed, by reason.", Count,
			Query{grown("namespace", series.JobSetsCompleted.Name), "completed"},
			named("reason", grown("reason", series.JobSetsFailed.Name))),
		stacked("Recreations by the failure policy", "By whether they count towards maxRestarts.", Count,
			Query{grown("counted", series.JobSetRestarts.Name), "counted: {{counted}}"}),
		stacked("Recreations of single Jobs", "Recreations by rules with the action RestartJob.", Count,
			Query{grown("counted", series.JobRestarts.Name), "counted: {{counted}}"}),
	}}
}

func elastic() Row {
	return Row{"ElasticJobs", []Panel{
		stacked("Workers that ended early", "By cause: the program of the worker, or a disruption of the cluster.", Count,
			named("cause", grown("cause", series.WorkersEnded.Name))),
		lines("Replaced and abandoned", "Pods that were created, and workers that are no longer replaced, so that their jobs continue without them.", Count,
			Query{grown("namespace", series.ElasticPodsCreated.Name), "pods created"},
			Query{grown("namespace", series.WorkersAbandoned.Name), "abandoned"}),
		stacked("Finished", "ElasticJobs by their last condition.", Count, named("outcome", grown("outcome", series.ElasticFinished.Name))),
	}}
}

func moves() Row {
	return Row{"Pods moved to other nodes", []Panel{
		stacked("Decisions", "Decisions about abnormal pods, by reason. See docs/rescheduler.md.", Count, named("reason", grown("reason", series.Decisions.Name))),
		stacked("Moves", "Attempts to move a pod, by outcome. Blocked means by a PodDisruptionBudget.", Count, named("outcome", grown("outcome", series.Moves.Name))),
		lines("Time to another node", "Time from the failure until the replacement is scheduled.", Seconds,
			Query{quantile("0.5", "", series.ReplacementDuration.Bucket()), "median"},
			Query{quantile("0.9", "", series.ReplacementDuration.Bucket()), "90th percentile"}),
		lines("Circuit breaker and tainted nodes", "1 while the circuit breaker is open. Nodes are tainted because pods of several workloads failed on them.", Count,
			Query{"max(" + from(series.BreakerOpen.Name) + ")", "breaker"}, Query{"max(" + from(series.TaintedNodes.Name) + ")", "tainted nodes"}),
		stacked("Admitted pods", "Pods that the webhook admitted, by whether they have exclusions, and pods whose exclusions were added later.", Count,
			named("result", grown("result", series.Admissions.Name)), Query{grown("namespace", series.FilledPods.Name), "filled later"}),
		lines("Dropped exclusions", "The scheduler ignores exclusions that are unreadable, or without which the pod fits nowhere.", Count,
			Query{grown("reason", series.ExclusionsIgnored.Name), "ignored: {{reason}}"},
			Query{grown("reason", series.PodsRelaxed.Name), "relaxed: {{reason}}"},
			Query{grown("result", series.AnnotationsCleared.Name), "cleared: {{result}}"}),
	}}
}

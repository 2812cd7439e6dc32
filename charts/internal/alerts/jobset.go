package alerts

import (
	"fmt"

	"github.com/holdfast-project/holdfast/charts/internal/admission"
	"github.com/holdfast-project/holdfast/shared/series"
)

func jobSet() Set {
	m := manager{
		title: "JobSet controller", program: "jobset", controllers: "jobset|placement|orchestrator|rosters",
		webhooks: admission.Names["jobset-controller"], lease: "6d4f6a47.jobset.x-k8s.io",
	}
	return Set{"jobset-controller", append(append(m.alerts(), training()...), orchestrator()...)}
}

// training: jobs lose time.
func training() []Alert {
	running, lost := series.RunningWorkerSeconds.Name, series.LostWorkerSeconds.Name
	return []Alert{
		{
			Name: "HoldfastGoodputLow", Severity: Warning, For: "15m",
			Expr:        fmt.Sprintf("sum(rate(%s[1h])) / (sum(rate(%s[1h])) + sum(rate(%s[1h]))) < 0.9", running, running, lost),
			Summary:     "A tenth of the workers' time is lost to failures",
			Description: "Within an hour, groups of workers stood still for more than a tenth of the time. The reliability board shows the causes.",
		},
		{
			Name: "HoldfastRestartStorm", Severity: Warning,
			Expr:        fmt.Sprintf("sum(increase(%s[30m])) > 30", series.Restarts.Name),
			Summary:     "More than 30 restarts in half an hour",
			Description: "Look whether they have a node, an image or a reason in common before budgets are used up.",
		},
		{
			Name: "HoldfastRestartBudgetNearlySpent", Severity: Warning,
			Expr:        fmt.Sprintf("max(%s) >= 0.8", series.RestartBudgetUsed.Name),
			Summary:     "A JobSet has used up most of its restarts",
			Description: "It has used 80 % of its maxRestarts or more. With one failure more than it allows it fails for good.",
		},
		{
			Name: "HoldfastRestartsSlow", Severity: Warning, For: "5m",
			Expr: fmt.Sprintf(`sum by (kind) (increase(%s[1h])) / sum by (kind) (increase(%s{phase="detect"}[1h])) > 300`,
				series.RestartDuration.Sum(), series.RestartDuration.Count()),
			Summary:     "Restarts take more than five minutes",
			Description: "That is the average from the failure until all workers run again. The reliability board shows in which phase the time goes.",
		},
		{
			Name: "HoldfastRestartsTimeOut", Severity: Warning,
			Expr:        fmt.Sprintf("sum(increase(%s[1h])) > 3", series.Timeouts.Name),
			Summary:     "Restarts in place run out of time",
			Description: "More than three in an hour did not end within inplace-timeout: each was followed by the recreation of all pods.",
		},
		{
			Name: "HoldfastWorkersOutOfSync", Severity: Warning, For: "20m",
			Expr:        fmt.Sprintf("sum(%s) > 0", series.OutOfSync.Name),
			Summary:     "Groups wait for workers that do not come",
			Description: "For 20 minutes there were workers that their groups wait for. A pod that cannot be scheduled is the usual cause.",
		},
	}
}

// orchestrator: restarts in place are led badly, or not at all.
func orchestrator() []Alert {
	return []Alert{
		{
			Name: "HoldfastOrchestratorHasNoLeader", Severity: Critical, For: "3m",
			Expr:        fmt.Sprintf("(max(%s) or vector(0)) < 1", series.Leading.Name), // with none there is no series either
			Summary:     "No orchestrator leads",
			Description: "None of those that run holds the Lease, or none runs. Restarts in place go on, but nothing is charged, times out, or is escalated, and groups are neither opened nor closed.",
		},
		{
			Name: "HoldfastStoreUnreachable", Severity: Critical, For: "5m",
			Expr:        fmt.Sprintf("sum(rate(%s[5m])) > 0.1", series.StoreErrors.Name),
			Summary:     "The store of in-place restarts does not answer",
			Description: "Healthy workers run on. A worker that dies waits at the barrier or is restarted alone; groups are not told.",
		},
		{
			Name: "HoldfastOrchestratorsFenced", Severity: Info,
			Expr:        fmt.Sprintf("sum(increase(%s[15m])) > 5", series.FencingRejections.Name),
			Summary:     "Orchestrators that were replaced still write",
			Description: "The store refused them, so nothing is harmed. Leaders that change often point to a slow API server or to paused nodes.",
		},
	}
}

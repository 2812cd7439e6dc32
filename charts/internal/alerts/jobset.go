package alerts

import (
	"fmt"

	"github.com/holdfast-project/holdfast/charts/internal/admission"
	"github.com/holdfast-project/holdfast/shared/series"
)

func jobSet() Set {
	m := manager{
		title: "JobSet controller", program: "jobset", controllers: "jobset|placement|orchestrator|jobs|pods|rosters",
		webhooks: admission.Names["jobset-controller"], lease: "6d4f6a47.jobset.x-k8s.io",
	}
	return Set{"jobset-controller", append(append(m.alerts(), training()...), orchestrator()...)}
}

func inPlace() Set {
	m := manager{
		title: "orchestrator beside the published JobSet controller", program: "orchestrator", controllers: "orchestrator|jobs|pods|rosters",
		webhooks: admission.Names["holdfast-inplace"], lease: "holdfast-inplace",
	}
	return Set{"holdfast-inplace", append(append(m.alerts(), training()...), orchestrator()...)}
}

// training returns the alerts about jobs that lose time.
func training() []Alert {
	running, lost := series.RunningWorkerSeconds.Name, series.LostWorkerSeconds.Name
	return []Alert{
		{
			Name: "HoldfastGoodputLow", Severity: Warning, For: "15m", Threshold: "0.9",
			Expr:        fmt.Sprintf("sum by (cluster, namespace) (rate(%s[1h])) / (sum by (cluster, namespace) (rate(%s[1h])) + sum by (cluster, namespace) (rate(%s[1h]))) < THRESHOLD", running, running, lost),
			Summary:     "Workers run for less than {{ THRESHOLD | humanizePercentage }} of the time because of failures",
			Description: "The rest of the last hour was lost to failures and restarts. Open the reliability dashboard to see the causes.",
		},
		{
			Name: "HoldfastRestartStorm", Severity: Warning, Threshold: "30",
			Expr:        fmt.Sprintf("sum by (cluster, namespace) (increase(%s[30m])) > THRESHOLD", series.Restarts.Name),
			Summary:     "More than THRESHOLD restarts in half an hour",
			Description: "Check what the restarts have in common, such as a node, an image or a reason, before the jobs exceed maxRestarts.",
		},
		{
			Name: "HoldfastRestartBudgetNearlySpent", Severity: Warning, Threshold: "0.8",
			Expr:        fmt.Sprintf("max by (cluster, namespace) (%s) >= THRESHOLD", series.RestartBudgetUsed.Name),
			Summary:     "A JobSet has used {{ THRESHOLD | humanizePercentage }} of its restarts or more",
			Description: "It fails for good with the first failure beyond maxRestarts. Find the JobSet and the cause of its failures.",
		},
		{
			Name: "HoldfastRestartsSlow", Severity: Warning, For: "5m", Threshold: "300",
			Expr: fmt.Sprintf(`sum by (cluster, namespace, kind) (increase(%s[1h])) / sum by (cluster, namespace, kind) (increase(%s{phase="detect"}[1h])) > THRESHOLD`,
				series.RestartDuration.Sum(), series.RestartDuration.Count()),
			Summary:     "Restarts take longer than {{ THRESHOLD | humanizeDuration }}",
			Description: "This is the average time from a failure until all workers run again. Open the reliability dashboard to see which phase takes the time.",
		},
		{
			Name: "HoldfastRestartsTimeOut", Severity: Warning, Threshold: "3",
			Expr:        fmt.Sprintf("sum by (cluster, namespace) (increase(%s[1h])) > THRESHOLD", series.Timeouts.Name),
			Summary:     "In-place restarts time out",
			Description: "More than THRESHOLD restarts in an hour did not finish within the in-place timeout. After each one, all pods were recreated. Find the worker that was missing.",
		},
		{
			Name: "HoldfastWorkersOutOfSync", Severity: Warning, For: "20m", Threshold: "0",
			Expr:        fmt.Sprintf("sum by (cluster, namespace) (%s) > THRESHOLD", series.OutOfSync.Name),
			Summary:     "Groups wait for workers that do not join",
			Description: "The value is the number of missing workers. Check for pods that cannot be scheduled first.",
		},
	}
}

// orchestrator returns the alerts about in-place restarts.
func orchestrator() []Alert {
	return []Alert{
		{
			Name: "HoldfastOrchestratorHasNoLeader", Severity: Critical, For: "3m",
			Expr:        fmt.Sprintf("absent(%s) or max by (cluster, namespace) (%s) < 1", series.Leading.Name, series.Leading.Name), // there is no series without an orchestrator
			Summary:     "No orchestrator is the leader",
			Description: "No orchestrator is running, or none of them holds the Lease. In-place restarts continue, but they are not counted, do not time out and are not escalated. New groups do not start. Check the orchestrator's pods first.",
		},
		{
			Name: "HoldfastStoreUnreachable", Severity: Critical, For: "5m", Threshold: "0.1",
			Expr:        fmt.Sprintf("sum by (cluster, namespace) (rate(%s[5m])) > THRESHOLD", series.StoreErrors.Name),
			Summary:     "The store of in-place restarts is unreachable",
			Description: "Healthy workers continue. A worker that exits waits, and its group does not restart. Check the store's pod first.",
		},
		{
			Name: "HoldfastOrchestratorsFenced", Severity: Info, Threshold: "5",
			Expr:        fmt.Sprintf("sum by (cluster, namespace) (increase(%s[15m])) > THRESHOLD", series.FencingRejections.Name),
			Summary:     "Orchestrators that lost the Lease still write",
			Description: "The store rejected the writes, so no data is damaged. Check for a slow API server or for paused nodes, which make the leader change.",
		},
	}
}

package boards

import (
	"github.com/holdfast-project/holdfast/charts/internal/foreign"
	"github.com/holdfast-project/holdfast/shared/series"
)

// Quota shows which workloads hold quota without training, and which wait for it.
func Quota() Board {
	return Board{
		UID: "holdfast-quota", File: "quota.json", Title: "Holdfast: quota and queues",
		Description: "Quota that is held while nothing trains, and what waits for it",
		Rows:        []Row{held(), queueing()},
	}
}

func held() Row {
	return Row{"AppWrappers", []Panel{
		stacked("Quota held, not all running", "Pods whose quota is held while their AppWrapper is not whole, by its phase.", Count,
			named("phase", summed("phase", series.QuotaHeld.Name))),
		stacked("Into each phase", "Transitions of AppWrappers.", Count, named("phase", grown("phase", series.Phases.Name))),
		stacked("Resets", "By what was wrong.", Count, named("reason", grown("reason", series.Resets.Name))),
		stacked("Resets against retryLimit", "Those that count, and those that do not: evacuations of nodes.", Count,
			named("counted", grown("counted", series.Resets.Name))),
		stacked("Grace periods", "Failures that healed within failureGracePeriod, and those that did not.", Count,
			named("outcome", grown("outcome", series.GracePeriods.Name))),
	}}
}

func queueing() Row {
	quota := "sum by (cluster_queue, resource) (" + foreign.KueueNominal + ")"
	return Row{"Kueue", []Panel{
		lines("Waiting", "Workloads that are not admitted, by queue.", Count,
			Query{"sum by (cluster_queue, status) (" + foreign.KueuePending + ")", "{{cluster_queue}} {{status}}"}),
		lines("Admitted", "Workloads that hold quota, by queue.", Count, named("cluster_queue", "sum by (cluster_queue) ("+foreign.KueueAdmitted+")")),
		lines("Wait for admission, 90th percentile", "By queue.", Seconds,
			named("cluster_queue", "histogram_quantile(0.9, sum by (le, cluster_queue) (rate("+foreign.KueueWait+"_bucket["+window+"])))")),
		lines("Quota in use", "Share of the nominal quota that is reserved.", Share,
			Query{"sum by (cluster_queue, resource) (" + foreign.KueueReserved + ") / (" + quota + " > 0)", "{{cluster_queue}} {{resource}}"}),
		stacked("Evictions", "Workloads that lost their quota, by reason.", Count,
			named("reason", "sum by (reason) (increase("+foreign.KueueEvicted+"["+window+"]))")),
	}}
}

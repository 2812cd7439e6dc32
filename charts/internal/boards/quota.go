package boards

import (
	"github.com/holdfast-project/holdfast/charts/internal/foreign"
	"github.com/holdfast-project/holdfast/shared/series"
)

// Quota shows which workloads hold quota without training, and which wait for it.
func Quota() Board {
	return Board{
		UID: "holdfast-quota", File: "quota.json", Title: "Holdfast: quota and queues",
		Description: "Quota that is held while nothing trains, and workloads that wait for quota",
		Rows:        []Row{held(), queueing()},
	}
}

func held() Row {
	return Row{"AppWrappers", []Panel{
		stacked("Quota held by incomplete AppWrappers", "Pods whose quota is held although not all pods of their AppWrapper run, by phase.", Count,
			named("phase", summed("phase", series.QuotaHeld.Name))),
		stacked("Phase transitions", "Transitions of AppWrappers into each phase.", Count, named("phase", grown("phase", series.Phases.Name))),
		stacked("Resets", "Resets by reason.", Count, named("reason", grown("reason", series.Resets.Name))),
		stacked("Counted resets", "Resets that count towards retryLimit, and evacuations, which do not count.", Count,
			named("counted", grown("counted", series.Resets.Name))),
		stacked("Grace periods", "Failure grace periods that ended, by whether the workload had recovered.", Count,
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

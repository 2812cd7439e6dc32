package series

// Metrics of the AppWrapper manager.
var (
	GracePeriods = counter("appwrapper_failure_grace_periods_total",
		"Failure grace periods that ended, by whether the workload had recovered.", "outcome").of(AppWrapperManager)
	Phases = counter("appwrapper_phase_total", "Transitions of AppWrappers into a phase.", "namespace", "phase").of(AppWrapperManager)
	// QuotaHeld is computed on each scrape.
	QuotaHeld = gauge("appwrapper_quota_held_pods",
		"Pods for which quota is held although not all pods of their AppWrapper run, by the phase of the AppWrapper.", "phase").of(AppWrapperManager)
	Resets = counter("appwrapper_resets_total",
		"Resets of AppWrappers, by reason and whether they count towards retryLimit.", "reason", "counted").of(AppWrapperManager)

	appWrappers = []Metric{GracePeriods, Phases, QuotaHeld, Resets}
)

package series

// Metrics of the rescheduler's manager.
var (
	Admissions = counter("rescheduler_admissions_total",
		"Pods that the webhook admitted, by whether they have exclusions.", "result").of(Rescheduler)
	BreakerOpen         = gauge("rescheduler_breaker_open", "1 while the circuit breaker is open and no pods are moved.").of(Rescheduler)
	Decisions           = counter("rescheduler_decisions_total", "Decisions about abnormal pods, by reason and signal.", "reason", "signal").of(Rescheduler)
	FilledPods          = counter("rescheduler_filled_pods_total", "Pending pods whose exclusions were added after their admission.").of(Rescheduler)
	Moves               = counter("rescheduler_moves_total", "Attempts to move a pod, by outcome.", "outcome").of(Rescheduler)
	ReplacementDuration = histogram("rescheduler_replacement_seconds",
		"Time in seconds from the last failure on the nodes that a replacement pod avoids until the pod is scheduled. Pods created more than 15 minutes after the failure are not counted.").of(Rescheduler)
	TaintedNodes = gauge("rescheduler_tainted_nodes", "Nodes with a taint because pods failed on them.").of(Rescheduler)

	moves = []Metric{Admissions, BreakerOpen, Decisions, FilledPods, Moves, ReplacementDuration, TaintedNodes}
)

// Metrics of the scheduler plugin, served with those of the scheduler.
var (
	AnnotationsCleared = counter("holdfast_pod_rescheduling_annotations_cleared_total",
		"Removals of the annotation from relaxed pods, by result.", "result").of(Scheduler)
	ExclusionsIgnored = counter("holdfast_pod_rescheduling_exclusions_ignored_total",
		"Scheduling attempts that ignored the exclusions of a pod, by reason.", "reason").of(Scheduler)
	PodsRelaxed = counter("holdfast_pod_rescheduling_pods_relaxed_total",
		"Pods whose exclusions were dropped because nothing else kept them from being scheduled, by reason.", "reason").of(Scheduler)

	scheduling = []Metric{AnnotationsCleared, ExclusionsIgnored, PodsRelaxed}
)

package series

// What the rescheduler's manager serves.
var (
	Admissions = counter("rescheduler_admissions_total",
		"Pods that the webhook was asked about, by whether they are kept away from nodes.", "result").of(Rescheduler)
	BreakerOpen         = gauge("rescheduler_breaker_open", "1 while nothing is moved because too much was.").of(Rescheduler)
	Decisions           = counter("rescheduler_decisions_total", "Decisions about abnormal pods, by reason and by what was wrong.", "reason", "signal").of(Rescheduler)
	FilledPods          = counter("rescheduler_filled_pods_total", "Pods without a node that got their exclusions after their admission.").of(Rescheduler)
	Moves               = counter("rescheduler_moves_total", "Attempts to move a pod, by outcome.", "outcome").of(Rescheduler)
	ReplacementDuration = histogram("rescheduler_replacement_seconds",
		"From the last failure on the nodes that a replacement avoids until it has another node. Pods made more than 15 minutes after are none.").of(Rescheduler)
	TaintedNodes = gauge("rescheduler_tainted_nodes", "Nodes that are tainted because of what pods say against them.").of(Rescheduler)

	moves = []Metric{Admissions, BreakerOpen, Decisions, FilledPods, Moves, ReplacementDuration, TaintedNodes}
)

// What the scheduler's plugin serves, among the scheduler's own metrics.
var (
	AnnotationsCleared = counter("holdfast_pod_rescheduling_annotations_cleared_total",
		"Annotations of relaxed pods that were to be removed, by result.", "result").of(Scheduler)
	ExclusionsIgnored = counter("holdfast_pod_rescheduling_exclusions_ignored_total",
		"Attempts to schedule a pod that did without its exclusions, by reason.", "reason").of(Scheduler)
	PodsRelaxed = counter("holdfast_pod_rescheduling_pods_relaxed_total",
		"Pods whose exclusions were dropped because nothing else kept them from being scheduled, by reason.", "reason").of(Scheduler)

	scheduling = []Metric{AnnotationsCleared, ExclusionsIgnored, PodsRelaxed}
)

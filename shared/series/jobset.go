package series

// BuildInfo is served by every manager.
var BuildInfo = gauge("holdfast_build_info", "Always 1; the labels identify the build.",
	"program", "version", "commit", "go_version").of(JobSetManager, Orchestrator, AppWrapperManager, ElasticManager, Rescheduler)

// WebhookCertificateEnd is served by every manager that serves webhooks.
var WebhookCertificateEnd = gauge("holdfast_webhook_certificate_not_after_seconds",
	"Expiry time of the webhook certificate, in seconds since 1970.",
	"program").of(JobSetManager, AppWrapperManager, Rescheduler)

// Restarts of groups and of whole JobSets, whichever program handles the failure.
var (
	Restarts = counter("holdfast_restarts_total",
		"Restarts, by kind (in-place, recreation), reason, and whether they count towards maxRestarts. The orchestrator counts restarts of "+
			"groups when they end. The manager counts those that the failure policy decided (reason policy).",
		"kind", "reason", "counted").of(JobSetManager, Orchestrator)
	RestartDuration = histogram("holdfast_restart_duration_seconds",
		"Duration of the phases of a restart in seconds, by kind (in-place, recreation). The phases are detect (from the failure until it is "+
			"detected), order (until the restart is ordered), down (until the last old worker has ended, only for recreations) and start (until all new workers run). Their sum is the outage.",
		"kind", "phase").of(JobSetManager, Orchestrator)
	LostWorkerSeconds = counter("holdfast_lost_worker_seconds_total",
		"Worker-seconds from a failure until all workers run again, by cause.",
		"cause").of(JobSetManager, Orchestrator)

	restarts = []Metric{Restarts, RestartDuration, LostWorkerSeconds}
)

// Metrics of the JobSet manager.
var (
	JobSetsCompleted = counter("jobset_completed_total", "JobSets that completed.").of(JobSetManager)
	JobSetsFailed    = counter("jobset_failed_total", "JobSets that failed, by the reason of their Failed condition.", "reason").of(JobSetManager)
	JobRestarts      = counter("jobset_job_restarts_total", "Restarts of single Jobs of JobSets, by whether they count towards maxRestarts.", "counted").of(JobSetManager)
	JobSetRestarts   = counter("jobset_restarts_total", "Restarts of JobSets that recreate all Jobs, by whether they count towards maxRestarts.", "counted").of(JobSetManager)
	// RestartBudgetUsed is computed on each scrape.
	RestartBudgetUsed = gauge("jobset_restart_budget_used_ratio",
		"Largest share of maxRestarts that an unfinished JobSet has used, in place and by recreation. At 1, the next failure is final.").of(JobSetManager)

	jobSets = []Metric{JobSetsCompleted, JobSetsFailed, JobRestarts, JobSetRestarts, RestartBudgetUsed}
)

// Metrics of the orchestrator, about groups of workers that restart in place.
var (
	FencingRejections = counter("holdfast_fencing_rejections_total",
		"Calls of this orchestrator that the store rejected because a newer leader has taken over.").of(Orchestrator)
	Escalations = counter("holdfast_inplace_escalations_total",
		"Recreations because a worker did not join a restart in time, by what was recreated: pod, job or group.", "scope").of(Orchestrator)
	EarlyFailures = counter("holdfast_inplace_early_failures_total",
		"Failures of workers before their group formed that counted towards maxRestarts.").of(Orchestrator)
	Evictions = counter("holdfast_inplace_evictions_total",
		"Slots that were released because their pod was deleted or failed.").of(Orchestrator)
	ForcedDeletions = counter("holdfast_inplace_forced_deletions_total",
		"Pods that were force-deleted because their node is gone.").of(Orchestrator)
	FormingTimeouts = counter("holdfast_inplace_forming_timeouts_total",
		"Groups that did not form within forming-timeout, even after the pods of missing workers were replaced.").of(Orchestrator)
	Groups       = gauge("holdfast_inplace_groups", "Groups that this process leads, by phase.", "phase").of(Orchestrator)
	Replacements = counter("holdfast_inplace_replacements_total",
		"Pods that the leader created for workers that had lost their pod.").of(Orchestrator)
	Rounds = counter("holdfast_inplace_rounds_total",
		"In-place restarts that ended, by outcome: in_sync, overtaken (another failure came first) or abandoned (a recreation follows).", "outcome").of(Orchestrator)
	SparesUsed = counter("holdfast_inplace_spares_used_total", "Slots of lost pods that spares have taken.").of(Orchestrator)
	Timeouts   = counter("holdfast_inplace_timeouts_total", "In-place restarts that did not end within inplace-timeout.").of(Orchestrator)
	Leading    = gauge("holdfast_orchestrator_leader", "1 while this process is the leader.").of(Orchestrator)
	// RunningWorkerSeconds and LostWorkerSeconds give the goodput: running / (running + lost).
	RunningWorkerSeconds = counter("holdfast_running_worker_seconds_total",
		"Worker-seconds in which groups led by this process were in sync.").of(Orchestrator)
	StoreErrors = counter("holdfast_store_errors_total", "Failed calls of the orchestrator to the store.").of(Orchestrator)
	OutOfSync   = gauge("holdfast_workers_out_of_sync",
		"Workers that forming or restarting groups are waiting for, as of the last reconcile.").of(Orchestrator)

	WaitingToJoin = gauge("holdfast_workers_waiting_to_join",
		"Workers that have not joined their group for the first time, by what they wait for, as of the last reconcile.",
		"waits_for").of(Orchestrator)

	groups = []Metric{
		FencingRejections, Escalations, Evictions, ForcedDeletions, Groups, Replacements, Rounds, SparesUsed, Timeouts, Leading,
		RunningWorkerSeconds, StoreErrors, OutOfSync, EarlyFailures, FormingTimeouts, WaitingToJoin,
	}
)

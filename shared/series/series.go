// Package series defines every metric once. Programs create their metrics from these definitions (shared/bootstrap/meter), and dashboards,
// alerts and the reference are generated from them. Labels have few values; no label contains an object's name.
package series

// Type is a Prometheus metric type.
type Type string

const (
	Counter   Type = "counter"
	Gauge     Type = "gauge"
	Histogram Type = "histogram"
)

// Metric is a metric that programs serve.
type Metric struct {
	Name   string
	Type   Type
	Help   string
	Labels []string
	// Programs are the programs that serve the metric.
	Programs []string
}

// Names of programs, after their folders or binaries.
const (
	JobSetManager     = "jobset-manager"
	Orchestrator      = "jobset-orchestrator"
	AppWrapperManager = "appwrapper-manager"
	ElasticManager    = "elastic-manager"
	Rendezvous        = "elastic-rendezvous"
	Rescheduler       = "rescheduler-manager"
	Scheduler         = "rescheduler-scheduler"
)

var all []Metric

// All returns all metrics in the order of their definitions, which is also the order in the reference documentation: those of several programs,
// then those of each program by name.
func All() []Metric { return all }

func counter(name, help string, labels ...string) Metric {
	return Metric{Name: name, Type: Counter, Help: help, Labels: labels}
}

func gauge(name, help string, labels ...string) Metric {
	return Metric{Name: name, Type: Gauge, Help: help, Labels: labels}
}

func histogram(name, help string, labels ...string) Metric {
	return Metric{Name: name, Type: Histogram, Help: help, Labels: labels}
}

func (m Metric) of(programs ...string) Metric {
	m.Programs = programs
	all = append(all, m)
	return m
}

// BuildInfo is served by every manager.
var BuildInfo = gauge("holdfast_build_info", "Always 1; the labels identify the build.",
	"program", "version", "commit", "go_version").of(JobSetManager, Orchestrator, AppWrapperManager, ElasticManager, Rescheduler)

// WebhookCertificateEnd is served by every manager that serves webhooks.
var WebhookCertificateEnd = gauge("holdfast_webhook_certificate_not_after_seconds",
	"Expiry time of the webhook certificate, in seconds since 1970.",
	"program").of(JobSetManager, AppWrapperManager, Rescheduler)

// Metrics of the AppWrapper manager.
var (
	Phases = counter("appwrapper_phase_total", "Transitions of AppWrappers into a phase.", "namespace", "phase").of(AppWrapperManager)
	// QuotaHeld is computed on each scrape.
	QuotaHeld = gauge("appwrapper_quota_held_pods",
		"Pods for which quota is held although not all pods of their AppWrapper are running, by the phase of the AppWrapper.", "phase").of(AppWrapperManager)
	Resets = counter("appwrapper_resets_total",
		"Resets of AppWrappers, by reason and whether they count towards retryLimit.", "reason", "counted").of(AppWrapperManager)
)

// Metrics of the elastic operator.
var (
	ElasticFinished    = counter("elasticjob_finished_total", "ElasticJobs that finished, by their last condition: Succeeded or Failed.", "outcome").of(ElasticManager)
	ElasticPodsCreated = counter("elasticjob_pods_created_total", "Pods that were created for ElasticJobs.").of(ElasticManager)
	WorkersEnded       = counter("elasticjob_workers_ended_total",
		"Workers that ended before they completed, by cause: program or disruption.", "cause").of(ElasticManager)
	WorkersAbandoned = counter("elasticjob_workers_abandoned_total", "Workers that were abandoned, which means that they are no longer replaced.").of(ElasticManager)
)

// Metrics of an ElasticJob's rendezvous server.
var (
	RendezvousConnections  = gauge("holdfast_rendezvous_connections", "Open connections.").of(Rendezvous)
	RendezvousParticipants = gauge("holdfast_rendezvous_participants", "Agents in the current rounds.").of(Rendezvous)
	RendezvousOpened       = counter("holdfast_rendezvous_opened_total",
		"Closed rendezvous that were reopened, by reason: left (other agents were still training) or not_done (all agents had ended, but not the job).",
		"reason").of(Rendezvous)
	RendezvousRefused      = counter("holdfast_rendezvous_refused_total", "Rejected connections and requests. The server's log contains the reasons.").of(Rendezvous)
	RendezvousRequests     = counter("holdfast_rendezvous_requests_total", "Requests, by operation.", "operation").of(Rendezvous)
	RendezvousRounds       = counter("holdfast_rendezvous_rounds_total", "Completed rounds.").of(Rendezvous)
	RendezvousWaitingNodes = gauge("holdfast_rendezvous_waiting_nodes", "Agents that are waiting for the next round.").of(Rendezvous)
)

// Metrics for restarts of groups and whole JobSets, whichever program handles the failure.
var (
	Restarts = counter("holdfast_restarts_total",
		"Restarts, by kind (in-place, recreation), reason, and whether they count towards maxRestarts. The orchestrator counts restarts of "+
			"groups when they end. The manager counts those that the failure policy decided (reason policy).",
		"kind", "reason", "counted").of(JobSetManager, Orchestrator)
	RestartDuration = histogram("holdfast_restart_duration_seconds",
		"Duration of the phases of a restart in seconds, by kind (in-place, recreation). The phases are detect (from the failure until it is "+
			"detected), order (until the restart is ordered), down (until the last old worker has ended, only for recreations) and start (until all new workers are running). Their sum is the outage.",
		"kind", "phase").of(JobSetManager, Orchestrator)
	LostWorkerSeconds = counter("holdfast_lost_worker_seconds_total",
		"Worker-seconds from a failure until all workers are running again, by cause.",
		"cause").of(JobSetManager, Orchestrator)
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
)

// Metrics of the orchestrator about groups of workers that restart in place.
var (
	FencingRejections = counter("holdfast_fencing_rejections_total",
		"Calls of this orchestrator that the store rejected because a newer leader has taken over.").of(Orchestrator)
	Escalations = counter("holdfast_inplace_escalations_total",
		"Recreations because a worker did not join a restart in time, by what was recreated: pod, job or group.", "scope").of(Orchestrator)
	EarlyFailures = counter("holdfast_inplace_early_failures_total",
		"Failures of workers before their group formed that counted towards maxRestarts.").of(Orchestrator)
	Evictions = counter("holdfast_inplace_evictions_total",
		"Slots that were released because their pods were deleted or failed.").of(Orchestrator)
	ForcedDeletions = counter("holdfast_inplace_forced_deletions_total",
		"Pods that were force-deleted because their node is gone.").of(Orchestrator)
	Groups       = gauge("holdfast_inplace_groups", "Groups that this process leads, by phase.", "phase").of(Orchestrator)
	Replacements = counter("holdfast_inplace_replacements_total",
		"Pods that the leader created to replace lost pods.").of(Orchestrator)
	Rounds = counter("holdfast_inplace_rounds_total",
		"In-place restarts that ended, by outcome: in_sync, overtaken (another failure came first) or abandoned (a recreation follows).", "outcome").of(Orchestrator)
	SparesUsed = counter("holdfast_inplace_spares_used_total", "Slots of lost pods that were taken over by spares.").of(Orchestrator)
	Timeouts   = counter("holdfast_inplace_timeouts_total", "In-place restarts that did not end within inplace-timeout.").of(Orchestrator)
	Leading    = gauge("holdfast_orchestrator_leader", "1 while this process is the leader.").of(Orchestrator)
	// RunningWorkerSeconds and LostWorkerSeconds yield the goodput: running / (running + lost).
	RunningWorkerSeconds = counter("holdfast_running_worker_seconds_total",
		"Worker-seconds in which groups led by this process were in sync.").of(Orchestrator)
	StoreErrors = counter("holdfast_store_errors_total", "Failed calls of the orchestrator to the store.").of(Orchestrator)
	OutOfSync   = gauge("holdfast_workers_out_of_sync",
		"Workers that forming or restarting groups are waiting for, as of the last reconcile.").of(Orchestrator)

	WaitingToJoin = gauge("holdfast_workers_waiting_to_join",
		"Workers that have not joined their group since it was opened, by what they are waiting for, as of the last reconcile.",
		"waits_for").of(Orchestrator)
)

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
)

// Metrics of the scheduler plugin, served with the scheduler's metrics.
var (
	ExclusionsIgnored = counter("holdfast_pod_rescheduling_exclusions_ignored_total",
		"Scheduling attempts that ignored the exclusions of a pod, by reason.", "reason").of(Scheduler)
	PodsRelaxed = counter("holdfast_pod_rescheduling_pods_relaxed_total",
		"Pods whose exclusions were dropped because nothing else kept them from being scheduled, by reason.", "reason").of(Scheduler)
)

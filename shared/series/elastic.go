package series

// Metrics of the elastic operator.
var (
	ElasticFinished    = counter("elasticjob_finished_total", "ElasticJobs that finished, by their last condition: Succeeded or Failed.", "outcome").of(ElasticManager)
	ElasticPodsCreated = counter("elasticjob_pods_created_total", "Pods that were created for ElasticJobs.").of(ElasticManager)
	WorkersEnded       = counter("elasticjob_workers_ended_total",
		"Workers that ended before they completed, by cause: program or disruption.", "cause").of(ElasticManager)
	WorkersAbandoned = counter("elasticjob_workers_abandoned_total", "Workers that were abandoned, which means that they are no longer replaced.").of(ElasticManager)

	elasticJobs = []Metric{ElasticFinished, ElasticPodsCreated, WorkersEnded, WorkersAbandoned}
)

// Metrics of the rendezvous server of one ElasticJob.
var (
	RendezvousAccepted = counter("holdfast_rendezvous_accepted_total",
		"Accepted connections, by protocol of the client: classic (TCPStore before torch 2.3) or validated.", "dialect").of(Rendezvous)
	RendezvousBytes        = gauge("holdfast_rendezvous_bytes", "Stored bytes, including the overhead of keys.").of(Rendezvous)
	RendezvousClosed       = gauge("holdfast_rendezvous_closed", "Closed rendezvous.").of(Rendezvous)
	RendezvousConnections  = gauge("holdfast_rendezvous_connections", "Open connections.").of(Rendezvous)
	RendezvousKeys         = gauge("holdfast_rendezvous_keys", "Stored keys.").of(Rendezvous)
	RendezvousParticipants = gauge("holdfast_rendezvous_participants", "Agents in the current rounds.").of(Rendezvous)
	RendezvousOpened       = counter("holdfast_rendezvous_opened_total",
		"Closed rendezvous that were opened again, by reason: left (other agents were still training) or not_done (all agents had ended, but not the job).",
		"reason").of(Rendezvous)
	RendezvousRefused      = counter("holdfast_rendezvous_refused_total", "Rejected connections and requests, by reason.", "reason").of(Rendezvous)
	RendezvousRequests     = counter("holdfast_rendezvous_requests_total", "Requests, by operation.", "operation").of(Rendezvous)
	RendezvousRounds       = counter("holdfast_rendezvous_rounds_total", "Completed rounds.").of(Rendezvous)
	RendezvousWaitingNodes = gauge("holdfast_rendezvous_waiting_nodes", "Agents that wait for the next round.").of(Rendezvous)
	RendezvousWaits        = gauge("holdfast_rendezvous_waits", "Keys that clients wait for.").of(Rendezvous)

	rendezvous = []Metric{
		RendezvousAccepted, RendezvousBytes, RendezvousClosed, RendezvousConnections, RendezvousKeys, RendezvousParticipants,
		RendezvousOpened, RendezvousRefused, RendezvousRequests, RendezvousRounds, RendezvousWaitingNodes, RendezvousWaits,
	}
)

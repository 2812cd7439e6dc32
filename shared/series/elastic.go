package series

// Metrics of the elastic operator.
var (
	ElasticFinished    = counter("elasticjob_finished_total", "ElasticJobs that finished, by their last condition: Succeeded or Failed.", "outcome").of(ElasticManager)
	ElasticPodsCreated = counter("elasticjob_pods_created_total", "Pods that were created for ElasticJobs.").of(ElasticManager)
	WorkersEnded       = counter("elasticjob_workers_ended_total",
		"Workers that ended before their work was done, by what ended them: program or disruption.", "cause").of(ElasticManager)
	WorkersAbandoned = counter("elasticjob_workers_abandoned_total", "Workers that are no longer replaced.").of(ElasticManager)

	elasticJobs = []Metric{ElasticFinished, ElasticPodsCreated, WorkersEnded, WorkersAbandoned}
)

// Metrics of the rendezvous server of one ElasticJob.
var (
	RendezvousAccepted = counter("holdfast_rendezvous_accepted_total",
		"Connections by protocol of the client: classic is TCPStore before torch 2.3, validated since.", "dialect").of(Rendezvous)
	RendezvousBytes        = gauge("holdfast_rendezvous_bytes", "Stored bytes, including the overhead of keys.").of(Rendezvous)
	RendezvousClosed       = gauge("holdfast_rendezvous_closed", "Rendezvous that are closed.").of(Rendezvous)
	RendezvousConnections  = gauge("holdfast_rendezvous_connections", "Connections that are open.").of(Rendezvous)
	RendezvousKeys         = gauge("holdfast_rendezvous_keys", "Keys that are stored.").of(Rendezvous)
	RendezvousParticipants = gauge("holdfast_rendezvous_participants", "Agents that take part in the current rounds.").of(Rendezvous)
	RendezvousOpened       = counter("holdfast_rendezvous_opened_total",
		"Rendezvous that agents had closed and that were opened again, by reason: left, others were still training; not_done, all had ended but not the job.",
		"reason").of(Rendezvous)
	RendezvousRefused      = counter("holdfast_rendezvous_refused_total", "Connections and requests that were refused, by reason.", "reason").of(Rendezvous)
	RendezvousRequests     = counter("holdfast_rendezvous_requests_total", "Requests, by operation.", "operation").of(Rendezvous)
	RendezvousRounds       = counter("holdfast_rendezvous_rounds_total", "Rounds that were completed.").of(Rendezvous)
	RendezvousWaitingNodes = gauge("holdfast_rendezvous_waiting_nodes", "Agents that wait for the next round.").of(Rendezvous)
	RendezvousWaits        = gauge("holdfast_rendezvous_waits", "Keys that clients wait for.").of(Rendezvous)

	rendezvous = []Metric{
		RendezvousAccepted, RendezvousBytes, RendezvousClosed, RendezvousConnections, RendezvousKeys, RendezvousParticipants,
		RendezvousOpened, RendezvousRefused, RendezvousRequests, RendezvousRounds, RendezvousWaitingNodes, RendezvousWaits,
	}
)

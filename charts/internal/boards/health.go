package boards

import (
	"github.com/holdfast-project/holdfast/charts/internal/admission"
	"github.com/holdfast-project/holdfast/charts/internal/foreign"
	"github.com/holdfast-project/holdfast/shared/series"
)

// Health shows whether the controllers work and keep up.
func Health() Board {
	return Board{
		UID: "holdfast-health", File: "health.json", Title: "Holdfast: controller health",
		Description: "Whether the controllers work and keep up, and which replica is the leader",
		Rows:        []Row{alive(), reconciling(), queues(), webhooks(), store(), rendezvous()},
	}
}

func alive() Row {
	return Row{"Processes", []Panel{
		lines("Managers", "Managers that serve metrics, by program and version.", Count,
			Query{"count by (program, version) (" + from(series.BuildInfo.Name) + ")", "{{program}} {{version}}"}),
		lines("Leaders", "1 for each program that has a leader. Only the leader acts, the other replicas are standbys.", Count,
			named("name", "max by (name) ("+from(foreign.Leader)+")"),
			Query{"max(" + from(series.Leading.Name) + ")", "orchestrator"}),
		lines("Memory", "Resident memory of each process.", Bytes, named("job", "max by (job) ("+from(foreign.Memory)+")")),
	}}
}

func reconciling() Row {
	return Row{"Reconciling", []Panel{
		lines("Reconciles", "Reconciles per second.", PerSecond, named("controller", perSecond("controller", foreign.Reconciles))),
		lines("Errors", "Reconciles that failed and are retried.", PerSecond, named("controller", perSecond("controller", foreign.ReconcileErrors))),
		lines("Duration, 99th percentile", "Duration of one reconcile.", Seconds,
			named("controller", quantile("0.99", "controller", foreign.ReconcileTime+"_bucket"))),
	}}
}

func queues() Row {
	return Row{"Keeping up", []Panel{
		lines("Waiting objects", "Depth of each queue. It should return to zero.", Count, named("name", summed("name", foreign.QueueDepth))),
		lines("Wait, 99th percentile", "Time that objects waited in the queue.", Seconds,
			named("name", quantile("0.99", "name", foreign.QueueTime+"_bucket"))),
		stacked("Requests to the API server", "By response code. 429 means that the API server is throttling requests.", PerSecond,
			named("code", perSecond("code", foreign.APIRequests))),
		lines("CPU", "CPU cores that each process uses.", Count, named("job", perSecond("job", foreign.CPU))),
	}}
}

func webhooks() Row {
	ours := `name=~"` + admission.Pattern(admission.All()) + `"`
	return Row{"Webhooks", []Panel{
		stacked("Requests", "By path. The code is 200 for all responses, including rejections and errors.", PerSecond,
			Query{perSecond("webhook, code", foreign.WebhookRequests), "{{webhook}} {{code}}"}),
		stacked("Errors of webhooks", "Panics, and errors that the API server counts if it is scraped. Rejections are not errors.", PerSecond,
			Query{perSecond("job", foreign.WebhookPanics), "{{job}} panics"},
			Query{"sum by (name, error_type) (" + anywhere(foreign.WebhookRejections, ours, `error_type!="no_error"`) + ")", "{{name}} {{error_type}}"},
			Query{"sum by (name) (" + anywhere(foreign.WebhookRejections, ours, `error_type="no_error",rejection_code=~"5.."`) + ")", "{{name}} error"},
			Query{"sum by (name) (" + anywhere(foreign.WebhookPassedOver, ours) + ")", "{{name}} skipped"}),
		lines("Duration, 99th percentile", "Clients that write an object wait this long.", Seconds,
			named("webhook", quantile("0.99", "webhook", foreign.WebhookLatency+"_bucket"))),
		lines("Time until certificates expire", "Certificates of the webhooks. They are renewed weeks or months before they expire.", Seconds,
			named("program", "min by (program) ("+from(series.WebhookCertificateEnd.Name)+") - time()")),
	}}
}

func store() Row {
	return Row{"Store of in-place restarts", []Panel{
		lines("Failed calls", "Calls of the orchestrator that failed. Workers continue, but restarts are not counted and do not time out.", Count,
			Query{grown("namespace", series.StoreErrors.Name), "calls"}),
		lines("Rejected calls", "Calls of orchestrators that are no longer the leader, which the store rejected.", Count,
			Query{grown("namespace", series.FencingRejections.Name), "calls"}),
	}}
}

func rendezvous() Row {
	return Row{"Rendezvous of ElasticJobs", []Panel{
		stacked("Requests", "By operation.", PerSecond, named("operation", perSecond("operation", series.RendezvousRequests.Name))),
		lines("Agents", "Agents in the current rounds, agents that wait for the next round, and connections.", Count,
			Query{"sum(" + from(series.RendezvousParticipants.Name) + ")", "in a round"},
			Query{"sum(" + from(series.RendezvousWaitingNodes.Name) + ")", "waiting"},
			Query{"sum(" + from(series.RendezvousConnections.Name) + ")", "connections"}),
		lines("Rounds", "Completed rounds, and rendezvous that were opened again.", Count,
			Query{grown("namespace", series.RendezvousRounds.Name), "rounds"},
			named("reason", grown("reason", series.RendezvousOpened.Name))),
	}}
}

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
		Description: "Whether the controllers work, keep up, and who leads",
		Rows:        []Row{alive(), reconciling(), queues(), webhooks(), store(), rendezvous()},
	}
}

func alive() Row {
	return Row{"Alive", []Panel{
		lines("Processes", "Managers that serve metrics, by program and version.", Count,
			Query{"count by (program, version) (" + from(series.BuildInfo.Name) + ")", "{{program}} {{version}}"}),
		lines("Leaders", "1 for each program that has one: with several replicas one acts, the others stand by.", Count,
			named("name", "max by (name) ("+from(foreign.Leader)+")"),
			Query{"max(" + from(series.Leading.Name) + ")", "orchestrator"}),
		lines("Memory", "Resident memory of each process.", Bytes, named("job", "max by (job) ("+from(foreign.Memory)+")")),
	}}
}

func reconciling() Row {
	return Row{"Reconciling", []Panel{
		lines("Passes", "Objects that were worked on, each second.", PerSecond, named("controller", perSecond("controller", foreign.Reconciles))),
		lines("Errors", "Passes that failed and are tried again.", PerSecond, named("controller", perSecond("controller", foreign.ReconcileErrors))),
		lines("Duration, 99th percentile", "Of one pass.", Seconds,
			named("controller", quantile("0.99", "controller", foreign.ReconcileTime+"_bucket"))),
	}}
}

func queues() Row {
	return Row{"Keeping up", []Panel{
		lines("Waiting objects", "Depth of each queue. It should come back to zero.", Count, named("name", summed("name", foreign.QueueDepth))),
		lines("Wait, 99th percentile", "How long objects waited for their turn.", Seconds,
			named("name", quantile("0.99", "name", foreign.QueueTime+"_bucket"))),
		stacked("Calls of the API server", "By the code of the answer. 429: the API server asks for patience.", PerSecond,
			named("code", perSecond("code", foreign.APIRequests))),
		lines("CPU", "Cores of each process.", Count, named("job", perSecond("job", foreign.CPU))),
	}}
}

func webhooks() Row {
	ours := `name=~"` + admission.Pattern(admission.All()) + `"`
	return Row{"Webhooks", []Panel{
		stacked("Requests", "By path. Whatever the answer is, its code is 200, for refusals and faults too.", PerSecond,
			Query{perSecond("webhook, code", foreign.WebhookRequests), "{{webhook}} {{code}}"}),
		stacked("Faults", "Of webhooks themselves, which are no refusals: panics, and what the API server has counted, if it is scraped.", PerSecond,
			Query{perSecond("job", foreign.WebhookPanics), "{{job}} panics"},
			Query{"sum by (name, error_type) (" + anywhere(foreign.WebhookRejections, ours, `error_type!="no_error"`) + ")", "{{name}} {{error_type}}"},
			Query{"sum by (name) (" + anywhere(foreign.WebhookRejections, ours, `error_type="no_error",rejection_code=~"5.."`) + ")", "{{name}} error"},
			Query{"sum by (name) (" + anywhere(foreign.WebhookPassedOver, ours) + ")", "{{name}} passed over"}),
		lines("Duration, 99th percentile", "Whoever writes an object waits this long.", Seconds,
			named("webhook", quantile("0.99", "webhook", foreign.WebhookLatency+"_bucket"))),
		lines("Certificates end in", "What webhooks are served with. It is renewed weeks or months before.", Seconds,
			named("program", "min by (program) ("+from(series.WebhookCertificateEnd.Name)+") - time()")),
	}}
}

func store() Row {
	return Row{"Store of in-place restarts", []Panel{
		lines("Calls without an answer", "Of the orchestrator. Workers run on; charges and time-outs wait.", Count,
			Query{grown("namespace", series.StoreErrors.Name), "calls"}),
		lines("Calls refused", "Of orchestrators that were replaced: proof that fencing works.", Count,
			Query{grown("namespace", series.FencingRejections.Name), "calls"}),
	}}
}

func rendezvous() Row {
	return Row{"Rendezvous of ElasticJobs", []Panel{
		stacked("Requests", "By operation.", PerSecond, named("operation", perSecond("operation", series.RendezvousRequests.Name))),
		lines("Agents", "That train, that wait for the next round, and connections.", Count,
			Query{"sum(" + from(series.RendezvousParticipants.Name) + ")", "taking part"},
			Query{"sum(" + from(series.RendezvousWaitingNodes.Name) + ")", "waiting"},
			Query{"sum(" + from(series.RendezvousConnections.Name) + ")", "connections"}),
		lines("Rounds", "Completed, and rendezvous that were opened again.", Count,
			Query{grown("namespace", series.RendezvousRounds.Name), "rounds"},
			named("reason", grown("reason", series.RendezvousOpened.Name))),
	}}
}

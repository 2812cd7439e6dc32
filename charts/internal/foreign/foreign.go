// Package foreign lists the metrics of other programs that dashboards and alerts may use: controller-runtime, which every manager serves,
// the API server, and Kueue.
package foreign

// Metrics of controller-runtime and client-go, with their labels.
const (
	Reconciles      = "controller_runtime_reconcile_total"         // controller, result
	ReconcileErrors = "controller_runtime_reconcile_errors_total"  // controller
	ReconcileTime   = "controller_runtime_reconcile_time_seconds"  // a histogram: controller
	WebhookRequests = "controller_runtime_webhook_requests_total"  // webhook (its path), code
	WebhookPanics   = "controller_runtime_webhook_panics_total"    // of all webhooks of a process
	WebhookLatency  = "controller_runtime_webhook_latency_seconds" // a histogram: webhook
	QueueDepth      = "workqueue_depth"                            // name
	QueueTime       = "workqueue_queue_duration_seconds"           // a histogram: name
	APIRequests     = "rest_client_requests_total"                 // code, method, host
	Leader          = "leader_election_master_status"              // name (of the Lease)
	CPU             = "process_cpu_seconds_total"
	Memory          = "process_resident_memory_bytes"
)

// Counters of the API server. They also count requests that did not reach a webhook. A webhook that was skipped because of failurePolicy
// Ignore has rejected nothing.
const (
	WebhookRejections = "apiserver_admission_webhook_rejection_count" // name, type, operation, error_type, rejection_code
	WebhookPassedOver = "apiserver_admission_webhook_fail_open_count" // name, type
)

// Metrics of Kueue. Those of resources need metrics.enableClusterQueueResources in its configuration.
const (
	KueuePending  = "kueue_pending_workloads"                  // cluster_queue, status
	KueueAdmitted = "kueue_admitted_active_workloads"          // cluster_queue
	KueueEvicted  = "kueue_evicted_workloads_total"            // cluster_queue, reason
	KueueWait     = "kueue_admission_wait_time_seconds"        // a histogram: cluster_queue
	KueueReserved = "kueue_cluster_queue_resource_reservation" // cluster_queue, flavor, resource
	KueueNominal  = "kueue_cluster_queue_nominal_quota"        // cluster_queue, flavor, resource
)

// Samples returns the names of all series of these metrics, with their labels where they are known.
func Samples() map[string][]string {
	all := map[string][]string{
		WebhookPanics:     {},
		WebhookRejections: {"name", "type", "operation", "error_type", "rejection_code"},
		WebhookPassedOver: {"name", "type"},
	}
	for _, name := range []string{
		Reconciles, ReconcileErrors, WebhookRequests, QueueDepth, APIRequests, Leader, CPU, Memory,
		KueuePending, KueueAdmitted, KueueEvicted, KueueReserved, KueueNominal,
	} {
		all[name] = nil
	}
	for _, histogram := range []string{ReconcileTime, WebhookLatency, QueueTime, KueueWait} {
		all[histogram+"_bucket"], all[histogram+"_count"], all[histogram+"_sum"] = nil, nil, nil
	}
	return all
}

// Package elastic is the root of the elastic operator's module. The operator runs ElasticJobs of group elastic.pytorch.org: training that
// continues as long as enough workers are left.
//
//	api/v1alpha1       the ElasticJob API
//	cmd/manager        the operator
//	cmd/rendezvous     the managed rendezvous: one small server for each job without an rdzvEndpoint
//	internal/policy    which workers are active, lost or replaced; when a job has failed or succeeded. Pure
//	internal/plan      pods, services and environment of a job. Pure
//	internal/controller/elasticjob
//	kueue              the integration with Kueue, in a separate module
//
// Each job without an rdzvEndpoint has a rendezvous server. docs/rendezvous.md describes the interface between the operator and the server:
// the flags, GET /status and GET /healthz.
package elastic

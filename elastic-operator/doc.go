// Package elastic is the root of the elastic operator's module: ElasticJobs of group elastic.pytorch.org, training that goes on
// while there are enough workers.
//
//	api/v1alpha1       the ElasticJob
//	cmd/manager        the operator
//	cmd/rendezvous     the managed rendezvous: one small server, where a job names no etcd of its own
//	internal/policy    who is active, lost, replaced; when a job has failed or succeeded. Pure
//	internal/plan      pods, services and environment of a job. Pure
//	internal/controller/elasticjob
//	internal/kueue     the only importer of Kueue's jobframework
//
// # The seam between the operator and the rendezvous server
//
// A job whose spec.rdzvEndpoint is empty gets a server of its own: a pod made by a Deployment of one replica, and a Service, both named
// <job>-rendezvous, owned by the job. The image is that of the operator's flag --rendezvous-image, and the container runs
//
//	rendezvous --listen :29400 --jobs <namespace>/<name>=<run id> --metrics :8080
//
// The run id is the job's UID, which is what workers get as PET_RDZV_ID; they get the job's name as JOB_ID, so that both must be served
// (torchelastic 0.2 and the legacy environment use the name). --jobs may hold more, separated by commas; an entry without "=" is served
// under its name only. The port speaks whatever the client speaks (TCPStore or etcd's HTTP), so workers get one endpoint
// <job>-rendezvous:29400 for each backend.
//
// The operator asks GET http://<job>-rendezvous.<namespace>.svc:8080/status and expects
//
//	{"jobs": {"<namespace>/<name>": {"round": 3, "participants": 4, "waiting": 0, "closed": false, "lastChange": "<RFC 3339>"}}}
//
// and copies it to status.rendezvous of the job; no answer leaves what was known and says so. GET /healthz on the same port answers 200 once
// the server listens; it is the readiness and liveness probe.
package elastic

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
// # The interface between the operator and the rendezvous server
//
// A job with an empty spec.rdzvEndpoint gets its own server: a pod and a Service, both named <job>-rendezvous and owned by the job. The
// operator replaces the pod when it fails or its node is lost, and deletes it while the job is suspended. The pod runs the image given by
// the operator's --rendezvous-image flag:
//
//	rendezvous --listen=:29400 --metrics=:8080 --run-id=<run ID>
//
// Workers receive the run ID as PET_RDZV_ID. It is the job's UID. After the job was resumed, "-" and the number of resumptions are
// appended, because a rendezvous that was closed by departing workers stays closed. The server implements torch's TCPStore, for the c10d
// backend.
//
// The operator sends GET http://<job>-rendezvous.<namespace>.svc:8080/status, expects
//
//	{"round": 3, "participants": 4, "waiting": 0, "closed": false, "lastChange": "<RFC 3339>"}
//
// and copies it to status.rendezvous of the job. If the request fails, only status.rendezvous.message changes. GET /healthz on the same
// port returns 200 once the server is listening. It is used as the readiness probe.
package elastic

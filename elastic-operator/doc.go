// Package elastic is the root of the elastic operator's module: ElasticJobs of group elastic.pytorch.org, training that goes on
// while there are enough workers.
//
//	api/v1alpha1       the ElasticJob
//	cmd/manager        the operator
//	cmd/rendezvous     the managed rendezvous: one small server for each job without an rdzvEndpoint
//	internal/policy    who is active, lost, replaced; when a job has failed or succeeded. Pure
//	internal/plan      pods, services and environment of a job. Pure
//	internal/controller/elasticjob
//	kueue              a module of its own: the only importer of Kueue's jobframework
//
// # The seam between the operator and the rendezvous server
//
// A job whose spec.rdzvEndpoint is empty gets a server of its own: a pod and a Service, both named <job>-rendezvous and owned by the job.
// The operator creates the pod, and replaces it when it fails or its node is lost, as it does with workers; while the job is suspended there is
// none. The image is that of the operator's flag --rendezvous-image, and the container runs
//
//	rendezvous --listen=:29400 --metrics=:8080 --run-id=<run ID>
//
// The run ID is what workers get as PET_RDZV_ID: the job's UID, and after a resumption the UID, a dash and the number of resumptions, because
// a rendezvous that leaving workers have closed stays closed. The server speaks torch's TCPStore, which is the backend c10d.
//
// The operator asks GET http://<job>-rendezvous.<namespace>.svc:8080/status and expects
//
//	{"round": 3, "participants": 4, "waiting": 0, "closed": false, "lastChange": "<RFC 3339>"}
//
// and copies it to status.rendezvous of the job; without an answer the message says so and the rest stays. GET /healthz on the same port
// answers 200 once the server listens; it is the readiness probe.
package elastic

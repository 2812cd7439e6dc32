// Package kueue is the root of the integration of ElasticJobs with Kueue. It is an optional program in a separate module, because Kueue's
// library is large, changes with every minor version, and pins the versions of other libraries.
//
// The integration and the operator communicate only through the ElasticJob API. The integration suspends and resumes jobs, sets
// spec.grantedReplicas to the number of admitted workers, and reports to Kueue when workers are ready and when the job has finished. The
// operator does not start pods of a job with a queue label before spec.grantedReplicas is set. Therefore the two programs may start in any
// order, and no webhook is needed.
package kueue

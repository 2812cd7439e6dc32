// Package kueue is the root of the integration of ElasticJobs with Kueue: a program of its own, in a module of its own, because the library
// of Kueue is large, changes from minor to minor, and decides about versions of others. Who has no Kueue does without.
//
// It knows the operator by the API only. It suspends and resumes jobs, says in spec.grantedReplicas how many workers Kueue has admitted,
// and tells Kueue when they are ready and when the job has finished. The operator starts no pod of a job with a queue label before something
// was granted, so that neither an order of start nor a webhook is needed.
package kueue

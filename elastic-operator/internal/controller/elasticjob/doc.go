// Package elasticjob makes pods and services follow ElasticJobs. What is decided is in package policy; this one observes, writes the decision
// into the status, and then carries it out.
package elasticjob

// Package plan builds what an ElasticJob is made of: the pods and services of its workers and, if it has no rendezvous of its own, the
// server that its workers meet at. It is pure.
package plan

// Package signals detects abnormal states of a pod. It has a table of them, with one row for each kind of failure, and returns the rows that
// a pod matches. Package policy decides what to do about a match. The package does no I/O.
//
// Source of the reasons: the kubelet's admission handlers, its eviction and shutdown managers and its container states (Kubernetes 1.36).
package signals

// Package signals finds out what is wrong with a pod. It holds the catalogue of abnormal states as a table, one row for each kind of
// failure, and returns the rows that a pod matches. Package policy decides what to do about a match. The package does no I/O.
//
// Source of the reasons: the kubelet's admission handlers, its eviction and shutdown managers and its container states (Kubernetes 1.36).
package signals

// Package signals tells what is wrong with a pod: it has the catalogue of abnormal states as a table, one row for each kind of
// trouble, and finds the rows that a pod matches. What is to be done about a match is for others. It is pure.
//
// Source of the reasons: the kubelet's admission handlers, its eviction and shutdown managers and its container states (Kubernetes 1.36).
package signals

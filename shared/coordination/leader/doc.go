// Package leader decides what the orchestrator does next about the group of one JobSet: what it writes into the store (package group), and
// what it writes onto the JobSet, from what it has observed. It is pure.
package leader

// Package server is the managed rendezvous of one job: one port for torch's TCPStore, and one for people, probes and Prometheus.
//
//	connection -> dialect by its first bytes -> session.go -> keys.go, under one lock -> flat
//
// After each write of the state of a rendezvous keeper.go reads it, for the status, and opens it again if it was closed (package healing).
// Nothing is kept on disk, see docs/adr/20261122-keep-rendezvous-state-in-memory.md.
package server

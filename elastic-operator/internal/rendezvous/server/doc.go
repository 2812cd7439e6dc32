// Package server is the managed rendezvous: one port for torch's TCPStore and etcd's v2 API, and one for people, probes and Prometheus.
//
//	connection -> the first bytes tell -> TCPStore   session.go -> keys.go, under one lock -> flat
//	                                   -> HTTP       etcd.go    ->                         -> tree
//
// After each write of a rendezvous' state keeper.go reads it, for the status, and to open it again if it was closed (package healing).
// Nothing is kept on disk, see docs/adr/20261122-a-rendezvous-that-forgets.md.
package server

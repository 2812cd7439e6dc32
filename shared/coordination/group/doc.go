// Package group contains the leader's rules for the stored group: what to write next, given what is stored and what the owner asks
// for. The rules are pure (next.go). The orchestrator and the simulation apply each write that Next returns in one compare-and-set.
package group

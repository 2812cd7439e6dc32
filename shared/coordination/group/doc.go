// Package group holds the leader's rules: what a group should be, given what is stored and what its owner asks for. They are
// pure. The orchestrator and the simulation carry out what Next returns, with one compare-and-set each.
package group

// Package leader decides what the orchestrator does next about one group. It does no I/O and uses no Kubernetes types: the
// orchestrator and the simulation fill the same Observation and execute the same Plan. Decide changes only the Memory passed to
// it.
//
//	observe: owner, Jobs, pods, store --> Observation --> Decide --> Plan
//	                                          ^                       |
//	                                          +--- read what it needs or execute its actions, until nothing is left to do
//
// Decide tries the rules in the order in which decide.go lists them. If a rule is not in rule_NAME.go, the list says where it is.
// If a rule needs something that is not cached, for example which workers have not joined or the current state of a pod in the API
// server, it requests a read and finds the result in the next observation. Each action is tried once in a reconcile; its result is
// in the next observation, too.
//
// Files only call files below them in this list. A rule calls another rule only if it includes that rule:
//
//	decide.go                                the list of rules
//	rule_*.go                                one concern each
//	heirs.go                                 which spare is assigned a slot
//	slots.go                                 what to read about slots; how to release and delete pods
//	planner.go, seats.go                     the state of one plan; which pod works in which slot
//	observation.go, plan.go, memory.go, text.go
//
// Packages:
//
//	forming     workers that have not joined yet: what they are waiting for, and when that times out
//	ladder      how to repair a slot that does not join, before all Jobs are recreated
//	accounting  the cause of a restart, and how long its phases took
//	workload    Jobs and pods as plain types
package leader

// Package leader decides what the orchestrator does next about one group. It does no I/O and uses no Kubernetes types: the
// orchestrator and the simulation fill the same Observation and execute the same Plan. All that Decide changes is the Memory that
// it gets.
//
//	observe: owner, Jobs, pods, store --> Observation --> Decide --> Plan
//	                                          ^                       |
//	                                          +--- read what it needs, or execute its actions; until nothing is left to do
//
// Decide tries the rules in the order of a list (decide.go). The list names the file of a rule if it is not rule_NAME.go. If a rule
// needs to know more than the caches have, for example which workers have not joined, or a pod as the API server has it now, it
// requests a read, whose result is in the next observation. An action is tried once in a reconcile, and its result is in the next
// observation, too.
//
// Calls between the files go down. The rules call each other only where one of them includes another:
//
//	decide.go                                the list of rules
//	rule_*.go                                one concern each
//	heirs.go                                 which spare gets a slot
//	release.go, slots.go                     releasing and deleting pods; what to read about slots
//	planner.go, seats.go                     one plan; which pod works in which slot
//	observation.go, plan.go, memory.go, text.go
//
// Packages:
//
//	forming     workers that have not joined for the first time: what they wait for, and when that times out
//	ladder      what is tried for a slot that does not join, before all Jobs are recreated
//	accounting  the cause of a restart, and how long its phases took
//	members     a group whose members come and go
//	workload    Jobs and pods in plain types
package leader

// Package leader decides what the orchestrator does next about one group. It is pure, and has no type of Kubernetes: the orchestrator and the
// simulation fill the same Observation and carry out the same Plan.
//
//	observe: owner, Jobs, pods, store --> Observation --> Decide --> Plan
//	                                          ^                       |
//	                                          +--- read what it needs, or carry out its actions; until nothing is left to do
//
// Decide tries rules in the order of a list (decide.go), one file for each. What a rule needs to know beyond the caches, such as who has not
// joined, or a pod as the API server has it now, it asks for: the answer is part of the next observation. An action is tried once in a
// reconcile; what became of it is part of the next observation, too.
//
//	forming     workers that have not joined for the first time: what they wait for, and when that ends
//	ladder      what is tried for a slot that does not come back, before all Jobs are recreated
//	accounting  what a restart was caused by, and where its time went
//	members     a group whose members come and go
//	workload    Jobs and pods in plain types
package leader

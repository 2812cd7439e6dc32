// Package ladder says who answers which fault of a pod, and on which rung, so that a fault is answered once, by the cheapest program
// that can hold it, and not by nobody. It rests on what everybody can see: the pod's owners, from its own controller up to the root,
// and their annotations. It asks nobody whether a program is installed: the marks of users and programs on the objects say what is to
// be expected, and where a program is silent the next rung has its turn after its own grace period. It is pure.
//
//	fault                      first                        if that fails                      and then
//	a process exits, hangs     1 orchestrator (exec)        5 recreation, at the time-out      6 AppWrapper, once the JobSet has failed
//	a container dies           1 orchestrator, once the kubelet has started it again; 2 with a sidecar
//	a pod is lost              1 orchestrator, the slot     5                                  6
//	a pod cannot run there     4 rescheduler                5 or the pod's controller          6
//	a node is drained          4: its pods come up elsewhere, and the group restarts once
//	a restart is out of time   5 jobset-controller          6
//	maxRestarts are used up    6 AppWrapper                 Failed
//	a node is marked EVICT     6 AppWrapper; without one nobody: what the mark means for pods is read by none of the others
//
// Without in-place restarts the pod's own controller takes the place of rungs 1 and 2. An ElasticJob that asks for them has rung 1 when a
// process ends, and 3 for all else. Source: DESIGN, "The ladder".
package ladder

// Package memory reads and writes the annotations with which the controller, the webhook and the scheduler plugin share which nodes a
// workload has failed on. It does no I/O.
//
//	schedulingRetries            workload   the user     maximum number of moves; without it, pods are not moved
//	sigs.k8s.io/deploy           workload   controller   WorkloadInfo: moves so far, nodes to avoid
//	holdfast.dev/rescheduling    workload   controller   the same with reasons, node UIDs and times: Memory
//	sigs.k8s.io/pod              bare pod   controller   PodInfo: as sigs.k8s.io/deploy, on a pod without an owner
//	sigs.k8s.io/scheduledHosts   pod        webhook      Hosts: nodes that this pod avoids
//
// All users who may write an object can write its annotations, so they are not trusted: values are limited, and invalid ones count as
// absent. The memory is only advice. Without it, Kubernetes behaves as usual.
//
// Source: the design document of pod rescheduling (error pods rescheduling), sections "Design details" and "Notes".
package memory

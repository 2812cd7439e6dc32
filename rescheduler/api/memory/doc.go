// Package memory reads and writes the annotations with which the controller, the webhook and the scheduler plugin share which nodes a
// workload has failed on. It does no I/O.
//
//	schedulingRetries            workload   the user     how often its pods may be moved; without it the workload is left alone
//	sigs.k8s.io/deploy           workload   controller   WorkloadInfo: moves so far, nodes to stay away from
//	holdfast.dev/rescheduling    workload   controller   the same with reasons, node UIDs and times: Memory
//	sigs.k8s.io/pod              bare pod   controller   PodInfo: as sigs.k8s.io/deploy, on a pod without an owner
//	sigs.k8s.io/scheduledHosts   pod        webhook      Hosts: nodes that the scheduler keeps this pod away from
//
// The annotations can be written by anybody who may write the object, so nothing in them is trusted: values have bounds,
// and one that cannot be read counts as absent. Memory is advice; without it Kubernetes behaves as it always does.
//
// Source: the design document of pod rescheduling (error pods rescheduling), sections "Design details" and "Notes".
package memory

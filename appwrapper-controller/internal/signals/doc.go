// Package signals decides which nodes are bad, for whom, and since when. All that can say so is in one table: labels, taints and
// conditions of nodes, and what a node's kubelet says about the devices of a pod. It is pure: the time is an argument.
//
//	           signal appears         it has lasted HoldDown
//	good ---------------------> held -----------------------> bad
//	  ^                           |                            |  signal disappears
//	  |        it disappears      |                            v
//	  +---------------------------+                         latched for Latch, as bad as before
//	  +--------------------------------------------------------+
package signals

// Package signals decides which nodes are bad, and for whom. All that can say so is in one table: labels, taints and conditions of nodes,
// and what a node's kubelet says about the devices of a pod. It is pure, and remembers nothing: every answer follows from the node as it
// is, so that a restart of the controller changes none.
package signals

// Package agent plays the agents of pods on simulated nodes: the core and the store client that are shipped, each agent with its
// own connections to a real store. Pods, kubelets and back-offs are those of e2e/fakes/kubelet; what a container runtime and a
// process take is a Timing, measured on a real node.
//
//	simulated node:  pod starts ----------------------- kubelet looks, restarts the container ------ pod ends
//	                     |                                    ^                  |                     |
//	Agents:            agent <-- exits, orders, removals -----+---- new instance-+                   leaves
//	                     |
//	store:            join, down, watch
package agent

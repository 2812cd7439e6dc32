// Package agent simulates the agents of pods on simulated nodes. Each agent has the shipped core and store client, and
// its own connections to a real store. Package kubelet simulates pods, kubelets and back-offs. A Timing specifies how
// long container runtimes and processes take, as measured on a real node.
//
//	simulated node:  pod starts ----------------------- kubelet polls, restarts the container ------ pod ends
//	                     |                                    ^                  |                     |
//	Agents:            agent <-- exits, orders, removals -----+---- new instance-+                   leaves
//	                     |
//	store:            join, down, watch
package agent

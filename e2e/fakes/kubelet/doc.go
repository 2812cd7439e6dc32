// Package kubelet plays nodes and their pods against a real control plane: objects, leases and statuses are written as
// kubelets would, and nothing runs. Thousands of nodes fit into one process, and no root is needed.
//
//	        bound          StartDelay             exit                tick
//	pod     -----> created ----------> running ---------> (unnoticed) ----> done      phase Succeeded or Failed
//	                                      ^                                |
//	                                      |  RestartDelay                  | its restart policy asks for another go
//	                                      +-------------- starting <-------+
//	                                                         ^             | within the back-off
//	                                                         +-- backing off
//
// Life is that machine: it is pure, its time and its chance are arguments. Nodes puts it between informers and the API.
package kubelet

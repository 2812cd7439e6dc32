// Package kubelet simulates nodes and their pods against a real control plane. It writes objects, leases and statuses
// as kubelets would, but does not run containers. One process can simulate thousands of nodes, and does not need root.
//
//	        bound          StartDelay             exit                tick
//	pod     -----> created ----------> running ---------> (unnoticed) ----> done      phase Succeeded or Failed
//	                                      ^                                |
//	                                      |  RestartDelay                  | its restart policy asks for a restart
//	                                      +-------------- starting <-------+
//	                                                         ^             | within the back-off
//	                                                         +-- backing off
//
// Life implements this state machine. It is pure: time and randomness are arguments. Nodes connects it to informers and
// the API server.
package kubelet

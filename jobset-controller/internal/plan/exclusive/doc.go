// Package exclusive gives each Job a topology domain, such as a rack, to itself. It is pure: it changes a pod that is being
// created, and plans what happens to the pods of a Job.
//
//	leader (completion index 0)   affinity to its own Job, anti-affinity to all others ──> the scheduler chooses a domain
//	follower, domain known        node selector of that domain ──────────────────────────> the scheduler chooses a node
//	follower, domain not known    scheduling gate ──> the leader gets a node ──> node selector, gate removed
//	pod without an index          like a leader: there is nobody to follow
//	index 0 will not run again    pods lead until one of them has a node, which matters when a Job is resumed
//
// Only leaders have affinities, because their cost in the scheduler grows with the number of pods and nodes. If a leader is placed
// again in another domain, its followers are evicted, and their successors follow. It makes no difference who creates a pod: the
// Job controller, or a program that replaces a lost pod.
package exclusive

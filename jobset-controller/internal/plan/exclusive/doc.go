// Package exclusive gives each Job a topology domain, such as a rack, for itself. It is pure: it changes a pod that is being
// created, and says what is to become of the pods of a Job.
//
//	leader (completion index 0)   affinity to its own Job, anti-affinity to all others ──> the scheduler chooses a domain
//	follower, domain known        node selector of that domain ──────────────────────────> the scheduler chooses a node
//	follower, domain not known    scheduling gate ──> the leader gets a node ──> node selector, gate lifted
//	pod without an index          as a leader: there is nobody to follow
//	index 0 is over for good      pods lead until one of them has a node, which matters when a Job is resumed
//
// Only leaders carry affinities, because the scheduler's work for them grows with pods and nodes. A follower whose domain is not
// that of its leader, because the leader was placed again, is evicted, and its successor follows. Who creates a pod makes no
// difference: the Job controller, or a program that replaces a lost one.
package exclusive

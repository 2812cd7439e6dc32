// Package replace decides when the leader makes the new pod of a slot itself, and what that pod is. It is pure: it looks at
// a Job, at the pods of one slot and at a node.
//
//	a pod of the slot lives                         nothing to do
//	one is being deleted, its containers may run    wait, unless its node is gone for good
//	all have ended, failed or gone                  a new pod, as the Job controller would make it, without its back-off
//	one has Succeeded                               nothing: the Job counts the slot as finished
//
// The Job controller waits 10 s after the first pod that a Job loses, twice as long after each one more, up to 10 min. It finds
// the new pod by its owner and its completion index and counts it as its own, so it makes none. See docs/adr/20261122-replace-lost-pods-in-the-orchestrator.md.
package replace

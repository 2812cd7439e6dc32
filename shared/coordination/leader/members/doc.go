// Package members decides what becomes of a group whose members come and go: that of an owner with a roster (package roster).
//
//	a member more       it enters at the group's round as soon as it has joined; nobody else notices
//	a member less       those in step with it restart in place, once, and not again when another takes its place
//	a failure           the store answers it: all restart in place
//	out of restarts     the member's owner decides: more restarts, or a group without it. Nobody else is stopped meanwhile
//	does not come back  its owner replaces the pod; the others go on without it
//
// There is no recreation of a whole group, hence no epoch but its owner's: the store leaves a phase in which it waits for one by being
// closed and opened again, which stops nobody. It is pure.
package members

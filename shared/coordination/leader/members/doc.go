// Package members decides about a group whose members come and go: the group of an owner with a roster (package roster).
//
//	a new member          enters at the group's round once it has joined; no other member is affected
//	a member leaves       those in sync with it restart in place, once, and not again when another member replaces it
//	a failure             the store answers it: all members restart in place
//	no restarts left      the owner decides: it allows more restarts, or continues without the member; no other member is stopped meanwhile
//	does not come back    the owner replaces the pod; the others continue without it
//
// A whole group is never recreated, so the only epochs are those of the owner. When the store waits for a recreation, the group is
// closed and opened again, which stops no member. The package is pure.
package members

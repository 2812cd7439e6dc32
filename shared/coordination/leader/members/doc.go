// Package members contains the rules for groups whose members come and go. The owner of such a group lists the members in a
// roster (package roster).
//
//	a new member          enters at the group's round once it has joined; other members are not affected
//	a member leaves       the members in sync with it restart in place once, and not again when another member replaces it
//	a failure             the store handles it: all members restart in place
//	no restarts left      the owner allows more restarts or continues without the member; other members are not stopped meanwhile
//	a member is missing   the owner replaces the pod; the others continue without it
//
// Such a group is never recreated as a whole, so only the owner opens epochs. If the store is waiting for a recreation, the group
// is closed and reopened, which does not stop any member. The package is pure.
package members

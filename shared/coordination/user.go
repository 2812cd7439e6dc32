package coordination

import "strings"

// userPrefix begins the names of the users that the leader makes at the store. It touches no others.
const userPrefix = "holdfast:"

// UserOf is the store's user of a group's members, given the group's name: the UID of its JobSet.
func UserOf(group string) string { return userPrefix + group }

// GroupOfUser is the inverse of UserOf; not ok for users of somebody else.
func GroupOfUser(name string) (group string, ok bool) { return strings.CutPrefix(name, userPrefix) }

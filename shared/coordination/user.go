package coordination

import "strings"

// userPrefix is the name prefix of the store users that the leader creates. The leader does not change any other users.
const userPrefix = "holdfast:"

// UserOf returns the name of the store user for a group's members. The group is named after the UID of its owner.
func UserOf(group string) string { return userPrefix + group }

// GroupOfUser is the inverse of UserOf. ok is false if the user does not belong to a group.
func GroupOfUser(name string) (group string, ok bool) { return strings.CutPrefix(name, userPrefix) }

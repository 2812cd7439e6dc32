package coordination

import "strings"

// userPrefix is the prefix of the store users that the leader creates. The leader does not change other users.
const userPrefix = "holdfast:"

// UserOf returns the store user of a group's members. The name of the group is the UID of its owner.
func UserOf(group string) string { return userPrefix + group }

// GroupOfUser is the inverse of UserOf. ok is false for other users.
func GroupOfUser(name string) (group string, ok bool) { return strings.CutPrefix(name, userPrefix) }

package valkey

import (
	"regexp"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// groupName is what a group may be called in rules: in anything else a pattern could hide.
var groupName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// OpenRules are those of a user for the members of all groups: for agents that bring no credentials. Whoever has it can
// disturb every group.
func OpenRules() []string { return rounds.MemberRules("*") }

// LeaderRules are those of the orchestrator's user: it leads all groups, and makes the users of their members. It may listen
// on all channels, because a rule has to name the very pattern that is listened to.
func LeaderRules() []string {
	rules := []string{
		"-@all", "+subscribe", "+psubscribe", "+ping", "+hello", "+auth", "+client|setname", "+fcall", "+function", "+acl",
		"+multi", "+exec", "+scan", "+memory", "+smembers", "+sadd", "+srem", "+hgetall", "+del",
	}
	for _, command := range rounds.FunctionCommands {
		rules = append(rules, "+"+command)
	}
	return append(rules, "resetkeys", "~hf*", "resetchannels", "&*")
}

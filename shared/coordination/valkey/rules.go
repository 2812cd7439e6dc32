package valkey

import (
	"regexp"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// groupName matches group names that are safe to use in access rules. Other names might contain a pattern.
var groupName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// LeaderRules returns the access rules for the orchestrator's user, which leads all groups and creates the users for their
// members. The user may subscribe to all channels, because a rule would have to match the pattern of the subscription exactly.
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

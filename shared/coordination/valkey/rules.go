package valkey

import (
	"regexp"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// groupName matches the names of groups that are allowed in rules. Any other name might contain a pattern.
var groupName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// LeaderRules returns the rules of the orchestrator's user, which leads all groups and creates the users of their members. It may
// subscribe to all channels, because a rule must name exactly the pattern of the subscription.
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

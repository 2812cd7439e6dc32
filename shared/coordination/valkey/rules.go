package valkey

import (
	"fmt"
	"regexp"

	"github.com/holdfast-project/holdfast/shared/coordination/functions"
)

// groupName is what a group may be called in rules: in anything else a pattern could hide.
var groupName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// ruleCommands are what the functions do, which run with the rights of their caller.
var ruleCommands = []string{
	"+type", "+hmget", "+hgetall", "+hget", "+hset", "+hdel", "+del", "+sismember", "+sadd", "+llen", "+rpush", "+lset", "+ltrim",
	"+publish", "+time",
}

// session is what every client needs to connect.
var session = []string{"+ping", "+hello", "+auth", "+client|setname"}

// AgentRules are the arguments of ACL SETUSER that let a user act for one group and nothing else: its four keys, its channel,
// and of the functions those that members call.
func AgentRules(group string) []string {
	rules := append([]string{"-@all", "+subscribe", "+fcall|" + functions.NameOfVersion}, session...)
	rules = append(rules, ruleCommands...)
	for _, function := range []string{functions.FunctionJoin, functions.FunctionDown, functions.FunctionAsk, functions.FunctionSummary} {
		rules = append(rules, "+fcall|"+functions.Name(function))
	}
	rules = append(rules, "resetkeys")
	for _, key := range functions.Keys(group) {
		rules = append(rules, "~"+key)
	}
	return append(rules, "resetchannels", "&"+functions.Channel(group))
}

// OpenRules are those of a user for the members of all groups: for agents that bring no credentials. Whoever has it can
// disturb every group.
func OpenRules() []string {
	rules := append([]string{"-@all", "+subscribe", "+fcall"}, session...)
	rules = append(rules, ruleCommands...)
	return append(rules, "resetkeys", "~"+functions.KeyPrefix+"*", "resetchannels", "&hf*")
}

// LeaderRules are those of the orchestrator's user: it leads all groups, and makes the users of their members. It may listen
// on all channels, because a rule has to name the very pattern that is listened to.
func LeaderRules() []string {
	rules := append([]string{"-@all", "+subscribe", "+psubscribe", "+fcall", "+function", "+acl"}, session...)
	rules = append(rules, ruleCommands...)
	return append(rules, "+smembers", "+srem", "+lrange", "+exists", "+unlink", "+memory", "+multi", "+exec", "+info",
		"resetkeys", "~hf*", "resetchannels", "&*")
}

// checkGroup refuses names with which a rule would say something else.
func checkGroup(group string) error {
	if !groupName.MatchString(group) {
		return fmt.Errorf("%.80q cannot name a group in an access rule", group)
	}
	return nil
}

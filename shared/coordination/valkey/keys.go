package valkey

import "strings"

// The names on the wire. The version of the protocol is in all of them, so that agents of an older version keep their
// keys and functions. The UID is a hash tag: all keys of a group live on one node of a cluster.
const (
	library = "holdfast1"

	functionJoin     = "hf1_join"
	functionDown     = "hf1_down"
	functionAsk      = "hf1_ask"
	functionOpen     = "hf1_open"
	functionRecreate = "hf1_recreate"
	functionEvict    = "hf1_evict"
	functionDrop     = "hf1_drop"
	functionMissing  = "hf1_missing"
	functionSummary  = "hf1_summary"

	indexKey    = "hf1:groups" // the UIDs of all groups
	allChannels = "hf1:{*}:c"

	keyPrefix     = "hf1:{"
	channelSuffix = "}:c"
)

func stateKey(group string) string   { return keyPrefix + group + "}:s" } // hash: see STATE in lua/20_records.lua
func slotsKey(group string) string   { return keyPrefix + group + "}:w" } // hash: slot -> packed record
func fencedKey(group string) string  { return keyPrefix + group + "}:x" } // set of pod UIDs
func historyKey(group string) string { return keyPrefix + group + "}:h" } // list of finished records
func channel(group string) string    { return keyPrefix + group + channelSuffix }

func keys(group string) []string {
	return []string{stateKey(group), slotsKey(group), fencedKey(group), historyKey(group)}
}

// groupOf is the UID in a channel's name.
func groupOf(channel string) string {
	return strings.TrimSuffix(strings.TrimPrefix(channel, keyPrefix), channelSuffix)
}

// AgentRules are the arguments of ACL SETUSER that let a user act for one group and nothing else. Functions run with the
// rights of their caller, so the commands they use are in the list.
func AgentRules(group string) []string {
	return []string{
		"-@all", "+fcall", "+subscribe", "+ping", "+hello", "+auth", "+client|setname",
		"+type", "+hmget", "+hgetall", "+hget", "+hset", "+hdel", "+del", "+sismember", "+sadd", "+llen", "+rpush", "+ltrim", "+publish", "+time",
		"resetkeys", "~" + keyPrefix + group + "}:*", "resetchannels", "&" + channel(group),
	}
}

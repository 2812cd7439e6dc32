package rounds

import (
	"strconv"
	"strings"
)

const keyPrefix = "hf" + Version + ":{"

// AllKeys is a pattern that matches the keys of all groups.
const AllKeys = keyPrefix + "*"

// AllChannels is a pattern that matches the channels of all groups.
const AllChannels = keyPrefix + "*}:[cl]"

// Keys are one group's keys. The group's UID is the hash tag, so in a Valkey cluster all of them are on the same node.
type Keys struct{ base string }

// KeysOf returns the keys for the group with the given UID.
func KeysOf(group string) Keys { return Keys{keyPrefix + group + "}:"} }

// Config is the key of a hash that only the leader writes.
func (k Keys) Config() string { return k.base + "g" }

// State is the key of a string. Every function takes this key.
func (k Keys) State() string { return k.base + "s" }

// Holders is the key of a hash for one generation of the group: slot -> pod.
func (k Keys) Holders(generation int64) string {
	return k.base + "w:" + strconv.FormatInt(generation, 10)
}

// Joined is the key of a hash for one round and unit: slot -> instance.
func (k Keys) Joined(l Level, unit int) string { return k.ofRound("j:", l, unit) }

// Finished is the key of a hash for one round and unit: slot -> ID of the finished instance.
func (k Keys) Finished(l Level, unit int) string { return k.ofRound("f:", l, unit) }

func (k Keys) ofRound(kind string, l Level, unit int) string {
	return k.base + kind + l.Incarnation + "." + strconv.FormatInt(l.Round, 10) + "." + strconv.Itoa(unit)
}

// relays is the prefix of the keys for relays.
const relays = "r:"

// Relay is the key of a string with what members need to know about the relay in a slot.
func (k Keys) Relay(slot string) string { return k.base + relays + slot }

// IsOver reports whether a key belongs to a table for a round before the level's round, or for a different generation or incarnation.
// Tables for later rounds are not over: they exist after the store has been rolled back, and the members return to these rounds.
func (k Keys) IsOver(key string, l Level) bool {
	kind, of, isTable := strings.Cut(strings.TrimPrefix(key, k.base), ":")
	switch {
	case !isTable || kind+":" == relays:
		return false
	case kind == "w":
		return of != strconv.FormatInt(l.Generation, 10)
	}
	incarnation, rest, _ := strings.Cut(of, ".")
	round, _, _ := strings.Cut(rest, ".")
	n, err := strconv.ParseInt(round, 10, 64)
	return incarnation != l.Incarnation || err != nil || n < l.Round
}

// FirstDeath is the key of a string with the first death in the round that may have left peers hanging.
func (k Keys) FirstDeath() string { return k.base + "d" }

// History is the key of a hash with a line for each of the last HistoryLength rounds.
func (k Keys) History() string { return k.base + "h" }

// GroupOf returns the group UID in the name of a key or channel, or "" if the name does not belong to a group.
func GroupOf(name string) string {
	rest, found := strings.CutPrefix(name, keyPrefix)
	group, _, closed := strings.Cut(rest, "}:")
	if !found || !closed {
		return ""
	}
	return group
}

// All returns a pattern that matches all of the group's keys.
func (k Keys) All() string { return escape.Replace(k.base) + "*" }

// escape escapes the special characters in patterns.
var escape = strings.NewReplacer("\\", "\\\\", "*", "\\*", "?", "\\?", "[", "\\[", "]", "\\]")

// Channel is the channel on which levels are published.
func (k Keys) Channel() string { return k.base + "c" }

// WakeUps is the channel that wakes the leader.
func (k Keys) WakeUps() string { return k.base + "l" }

// FunctionCommands are the commands that the functions run. Functions run with the permissions of their caller.
var FunctionCommands = []string{"hmget", "hget", "hset", "hsetnx", "hdel", "hlen", "hstrlen", "getrange", "set", "unlink", "publish", "time"}

// MemberRules returns the access rules that limit a user to one group. Members may only read what the leader decides. They need
// permission for the commands in the functions, because functions run with the permissions of their caller.
func MemberRules(group string) []string {
	k := KeysOf(group)
	rules := []string{"-@all", "+subscribe", "+ping", "+hello", "+auth", "+client|setname", "+fcall|" + FunctionVersion}
	for _, function := range []string{FunctionJoin, FunctionDown, FunctionLost, FunctionFinish, FunctionAsk} {
		rules = append(rules, "+fcall|"+function)
	}
	for _, command := range FunctionCommands {
		rules = append(rules, "+"+command)
	}
	rules = append(rules, "resetkeys", "%R~"+k.Config())
	for _, writable := range []string{k.State(), k.base + "w:*", k.base + "j:*", k.base + "f:*", k.Relay("*"), k.FirstDeath(), k.History()} {
		rules = append(rules, "~"+writable)
	}
	return append(rules, "resetchannels", "&"+k.Channel(), "&"+k.WakeUps())
}

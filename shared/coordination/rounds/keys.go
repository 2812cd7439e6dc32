package rounds

import (
	"strconv"
	"strings"
)

const keyPrefix = "hf" + Version + ":{"

// IndexKey is the key of a set with the UIDs of all groups.
const IndexKey = "hf" + Version + ":groups"

// AllKeys is a pattern that matches the keys of all groups.
const AllKeys = keyPrefix + "*"

// AllChannels is a pattern that matches the channels of all groups.
const AllChannels = keyPrefix + "*}:[cl]"

// Keys are the keys of one group. Its UID is a hash tag, so all of them are on the same node of a cluster.
type Keys struct{ base string }

// KeysOf returns the keys of the group with this UID.
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

// relays is how the keys of relays begin.
const relays = "r:"

// Relay is the key of a string: what members must know about the relay in a slot.
func (k Keys) Relay(slot string) string { return k.base + relays + slot }

// IsOver reports whether a key is a table of an earlier round than that of the level, or of another generation or incarnation. A store that was rolled back has tables of later rounds, and its members return to them.
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

// FirstDeath is the key of a string: the first death of the round that may have left peers hanging.
func (k Keys) FirstDeath() string { return k.base + "d" }

// History is the key of a hash with a line for each of the last HistoryLength rounds.
func (k Keys) History() string { return k.base + "h" }

// GroupOf returns the UID in the name of a group's key or channel, or "" if the name is neither.
func GroupOf(name string) string {
	rest, found := strings.CutPrefix(name, keyPrefix)
	group, _, closed := strings.Cut(rest, "}:")
	if !found || !closed {
		return ""
	}
	return group
}

// All is a pattern that matches all keys of the group.
func (k Keys) All() string { return escape.Replace(k.base) + "*" }

// escape quotes the special characters of patterns.
var escape = strings.NewReplacer("\\", "\\\\", "*", "\\*", "?", "\\?", "[", "\\[", "]", "\\]")

// Channel is the channel on which levels are published.
func (k Keys) Channel() string { return k.base + "c" }

// WakeUps is the channel that wakes the leader.
func (k Keys) WakeUps() string { return k.base + "l" }

// FunctionCommands are the commands that the functions run, with the permissions of their caller.
var FunctionCommands = []string{"hmget", "hget", "hset", "hsetnx", "hdel", "hlen", "hstrlen", "getrange", "set", "unlink", "publish", "time"}

// MemberRules returns the access rules that limit a user to one group. Members read what the leader has decided, and the functions
// run with the permissions of their caller.
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

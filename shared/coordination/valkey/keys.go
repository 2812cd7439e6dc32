package valkey

import (
	"fmt"
	"strings"
)

// The names on the wire. Functions and channels carry the version of the protocol, so that members of two versions are
// served at a time. Keys carry the version of what is stored, which all of them share. The UID is a hash tag: all keys of a
// group live on one node of a cluster.
const (
	library = "holdfast"

	functionJoin     = "join"
	functionDown     = "down"
	functionAsk      = "ask"
	functionOpen     = "open"
	functionRecreate = "recreate"
	functionEvict    = "evict"
	functionDrop     = "drop"
	functionMissing  = "missing"
	functionSummary  = "summary"

	indexKey = "hf1:groups" // the UIDs of all groups

	rejectedField = "rejected" // of the state: see lua/50_member.lua

	keyPrefix     = "hf1:{"
	channelSuffix = "}:c"
)

func functionName(version int64, function string) string {
	return fmt.Sprintf("hf%d_%s", version, function)
}

func stateKey(group string) string   { return keyPrefix + group + "}:s" } // hash: see STATE in lua/20_records.lua
func slotsKey(group string) string   { return keyPrefix + group + "}:w" } // hash: slot -> packed record
func fencedKey(group string) string  { return keyPrefix + group + "}:x" } // set of pod UIDs
func historyKey(group string) string { return keyPrefix + group + "}:h" } // list of finished records

func channelPrefix(version int64) string { return fmt.Sprintf("hf%d:{", version) }

func channel(version int64, group string) string {
	return channelPrefix(version) + group + channelSuffix
}

func allChannels(version int64) string { return channel(version, "*") }

func keys(group string) []string {
	return []string{stateKey(group), slotsKey(group), fencedKey(group), historyKey(group)}
}

// groupOf is the UID in a channel's name.
func groupOf(channel string) string {
	_, group, _ := strings.Cut(strings.TrimSuffix(channel, channelSuffix), "{")
	return group
}

package functions

import (
	"strings"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// The functions; see Name.
const (
	FunctionJoin     = "join"
	FunctionDown     = "down"
	FunctionAsk      = "ask"
	FunctionOpen     = "open"
	FunctionRecreate = "recreate"
	FunctionEvict    = "evict"
	FunctionDrop     = "drop"
	FunctionMissing  = "missing"
	FunctionSummary  = "summary"
)

const (
	// NameOfVersion is the function that every version of the library has: it returns the version of the protocol.
	NameOfVersion = "hf_version"
	// IndexKey is a set: the UIDs of all groups.
	IndexKey = prefix + ":groups"
	// KeyPrefix begins the keys of all groups. The UID behind it is a hash tag: all keys of a group live on one node of a cluster.
	KeyPrefix = prefix + ":{"

	prefix        = "hf" + coordination.Version
	channelSuffix = "}:c"
)

// Name is a function's name in the store, which carries the version of the protocol.
func Name(function string) string { return prefix + "_" + function }

// StateKey is a hash: see STATE in lua/20_records.lua.
func StateKey(group string) string { return KeyPrefix + group + "}:s" }

// SlotsKey is a hash: slot -> packed record.
func SlotsKey(group string) string { return KeyPrefix + group + "}:w" }

// FencedKey is a set of pod UIDs.
func FencedKey(group string) string { return KeyPrefix + group + "}:x" }

// HistoryKey is a list of finished records.
func HistoryKey(group string) string { return KeyPrefix + group + "}:h" }

// Keys are all keys of a group, in the order in which the functions take them.
func Keys(group string) []string {
	return []string{StateKey(group), SlotsKey(group), FencedKey(group), HistoryKey(group)}
}

// Channel is where the level of a group is published.
func Channel(group string) string { return KeyPrefix + group + channelSuffix }

// AllChannels is the pattern of the channels of all groups.
func AllChannels() string { return Channel("*") }

// GroupOf is the UID in a channel's name.
func GroupOf(channel string) string {
	_, group, _ := strings.Cut(strings.TrimSuffix(channel, channelSuffix), "{")
	return group
}

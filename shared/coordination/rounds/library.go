// Package rounds is the store's part of the protocol: the functions that run inside the store (rounds.lua), their arguments, and
// the data that they keep. A death in the current round opens the next round, and the last join of a round starts the workers. The
// store does both, because they cannot wait for a leader. The leader decides everything else and writes it with Set. The comments
// in rounds.lua describe each key and each argument.
package rounds

import (
	_ "embed"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// Version is the version of the protocol.
const Version = coordination.Version

// Library is the source of the functions.
//
//go:embed rounds.lua
var Library string

const (
	FunctionJoin    = "hf" + Version + "_join"
	FunctionDown    = "hf" + Version + "_down"
	FunctionLost    = "hf" + Version + "_lost"
	FunctionFinish  = "hf" + Version + "_finish"
	FunctionAsk     = "hf" + Version + "_ask"
	FunctionRelease = "hf" + Version + "_release"
	FunctionSet     = "hf" + Version + "_set"
	FunctionLook    = "hf" + Version + "_look"
	// FunctionVersion exists in every version of the library and returns the protocol version.
	FunctionVersion = "hf_version"
)

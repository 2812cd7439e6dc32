package coordination

import (
	"fmt"
	"strconv"
)

// ProtocolVersion is the version of functions and messages, a number from 1. It is a setting of the build
// (-ldflags "-X github.com/holdfast-project/holdfast/shared/coordination.ProtocolVersion=2"), so that a release can be built
// as the one before it and the two be tried together. The store's functions of version N serve members of N-1 as well;
// a member of N makes do with functions of N-1.
var ProtocolVersion = "1"

var version = func() int64 {
	n, err := strconv.ParseInt(ProtocolVersion, 10, 32)
	if err != nil || n < 1 {
		panic(fmt.Sprintf("built with ProtocolVersion %q, which is no number from 1", ProtocolVersion))
	}
	return n
}()

// Version is ProtocolVersion as a number.
func Version() int64 { return version }

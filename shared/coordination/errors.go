package coordination

import (
	"errors"
	"fmt"
)

// Version is the protocol version. It covers the store's functions, the messages and the stored data, and is part of the names of
// keys and functions. A store with a different version is rejected with a VersionError.
const Version = "2"

// Errors returned by the store. Any other error means that the store is unreachable and the call should be retried.
var (
	// ErrNoGroup: the store has no such group, because it has not been opened yet, has finished, or its data was lost.
	ErrNoGroup = errors.New("no group is open under this JobSet UID")
	// ErrUnknownSlot: the worker ID is not the name of a slot in the group.
	ErrUnknownSlot = errors.New("not a slot of this group")
	// ErrStaleLeader: another leader has a higher token.
	ErrStaleLeader = errors.New("a newer leader has taken over")
	// ErrArgument: the call is invalid in any state.
	ErrArgument = errors.New("argument out of range")
	// ErrForeignValue: the store contains a value that this protocol did not write. Nothing was changed.
	ErrForeignValue = errors.New("foreign value in the store")
	// ErrSwitched: the agent has switched between its relay and a direct connection to the store. It may have missed updates and
	// must read the state again.
	ErrSwitched = errors.New("the connection to the store has changed")
)

// IsReply reports whether the store has replied to a read, possibly with an error.
func IsReply(err error) bool {
	return err == nil || errors.Is(err, ErrNoGroup) || errors.Is(err, ErrUnknownSlot) || errors.Is(err, ErrForeignValue)
}

// ForeignValueError locates a foreign value. Key is a channel if the value was published.
type ForeignValueError struct{ Key, Value string }

func (e *ForeignValueError) Error() string {
	return fmt.Sprintf("%v: %s holds %.80q", ErrForeignValue, e.Key, e.Value)
}

func (e *ForeignValueError) Unwrap() error { return ErrForeignValue }

// VersionError means that the functions in the store belong to another protocol version. Nothing was read or changed.
type VersionError struct{ Store string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("the store serves protocol version %.20s, this program speaks version %s", e.Store, Version)
}

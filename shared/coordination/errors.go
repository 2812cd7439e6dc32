package coordination

import (
	"errors"
	"fmt"
)

// Errors of the store. Anything else means that the store could not be reached: try again.
var (
	// ErrNoGroup: the store holds no such group (not opened yet, finished, or the data were lost).
	ErrNoGroup = errors.New("no group is open under this JobSet UID")
	// ErrUnknownSlot: the worker ID is not a slot of the group.
	ErrUnknownSlot = errors.New("not a slot of this group")
	// ErrStaleLeader: another leader has a higher token.
	ErrStaleLeader = errors.New("a newer leader has taken over")
	// ErrArgument: a call that no state could make right.
	ErrArgument = errors.New("argument out of range")
	// ErrForeignValue: the store holds something this protocol did not write. Nothing was changed.
	ErrForeignValue = errors.New("foreign value in the store")
)

// FieldMessage is the field of a foreign value that was broadcast; its key is the channel.
const FieldMessage = "message"

// ForeignValueError says where the foreign value is.
type ForeignValueError struct{ Key, Field, Value string }

func (e *ForeignValueError) Error() string {
	return fmt.Sprintf("%v: key %s field %s holds %.80q", ErrForeignValue, e.Key, e.Field, e.Value)
}

func (e *ForeignValueError) Unwrap() error { return ErrForeignValue }

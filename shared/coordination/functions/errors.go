package functions

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// errorsByCode are the replies of the functions that mean one of the protocol's errors.
var errorsByCode = map[string]error{
	"HFNOGROUP":     coordination.ErrNoGroup,
	"HFFENCED":      coordination.ErrFenced,
	"HFUNKNOWNSLOT": coordination.ErrUnknownSlot,
	"HFSTALELEADER": coordination.ErrStaleLeader,
	"HFSTALEEPOCH":  coordination.ErrStaleEpoch,
}

// Error is the protocol's error that an error reply of the functions stands for: a code, a blank, a text. Nil: it is none of
// theirs.
func Error(reply string) error {
	code, text, _ := strings.Cut(reply, " ")
	switch known := errorsByCode[code]; {
	case known != nil:
		return fmt.Errorf("%w: %s", known, text)
	case code == "HFFOREIGN":
		return foreignValue(text)
	case code == "HFARGUMENT":
		return fmt.Errorf("%w: %s", coordination.ErrArgument, text)
	}
	return nil
}

// foreignValue reads the place from a reply: a JSON list of key, field and value.
func foreignValue(text string) error {
	var place [3]any
	if err := json.Unmarshal([]byte(text), &place); err != nil {
		return fmt.Errorf("%w: %.200q", coordination.ErrForeignValue, text)
	}
	return &coordination.ForeignValueError{
		Key: fmt.Sprint(place[0]), Field: fmt.Sprint(place[1]), Value: fmt.Sprint(place[2]),
	}
}

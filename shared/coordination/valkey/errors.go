package valkey

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

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

// protocolError turns an error reply into the protocol's error; all others mean that the store is out of reach.
func protocolError(err error) error {
	var reply redis.Error
	if err == nil || !errors.As(err, &reply) {
		if err == nil {
			return nil
		}
		return unreachable(err)
	}
	code, text, _ := strings.Cut(reply.Error(), " ")
	switch known := errorsByCode[code]; {
	case known != nil:
		return fmt.Errorf("%w: %s", known, text)
	case code == "HFFOREIGN":
		return foreignValue(text)
	case code == "HFARGUMENT":
		return fmt.Errorf("%w: %s", coordination.ErrArgument, text)
	default:
		return unreachable(err)
	}
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

func isMissingFunction(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) && strings.HasPrefix(reply.Error(), "ERR Function not found")
}

func isWrongType(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) && strings.HasPrefix(reply.Error(), "WRONGTYPE")
}

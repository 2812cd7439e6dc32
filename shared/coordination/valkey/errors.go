package valkey

import (
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// protocolError converts an error reply to the protocol's error. Any other error means that the store is unreachable. It returns nil
// for nil.
func protocolError(err error) error {
	var reply redis.Error
	if errors.As(err, &reply) {
		if known := rounds.Error(reply.Error()); known != nil {
			return known
		}
	}
	return unreachable(err)
}

func isMissingFunction(err error) bool { return redis.HasErrorPrefix(err, "Function not found") }

func isNotPermitted(err error) bool { return redis.HasErrorPrefix(err, "NOPERM") }

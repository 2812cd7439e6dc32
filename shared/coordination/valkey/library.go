package valkey

import (
	"context"
	"fmt"
	"regexp"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/functions"
)

// versionedName is a function's name in any version, but for the one that tells the version.
var versionedName = regexp.MustCompile(`^hf(\d+)_`)

// EnsureLibrary loads the functions unless the server has exactly these. Only leaders may; agents call them. A library of another
// protocol version is left alone: the agents of running pods speak it, and what it has stored is not understood here.
func (s *Store) EnsureLibrary(ctx context.Context) error {
	loaded, err := s.client.FunctionList(ctx, redis.FunctionListQuery{LibraryNamePattern: functions.LibraryName, WithCode: true}).Result()
	if err != nil {
		return fmt.Errorf("listing the store's functions: %w", err)
	}
	for _, known := range loaded {
		if known.Code == functions.Library {
			return nil
		}
		for _, function := range known.Functions {
			if name := versionedName.FindStringSubmatch(function.Name); name != nil && name[1] != coordination.Version {
				return &coordination.VersionError{Store: name[1]}
			}
		}
	}
	if err := s.client.FunctionLoadReplace(ctx, functions.Library).Err(); err != nil {
		return fmt.Errorf("loading the store's functions: %w", err)
	}
	return nil
}

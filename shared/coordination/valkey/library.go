package valkey

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// allLibraries is a pattern that matches the libraries of all versions.
const allLibraries = "holdfast*"

// versionedName matches the name of a function in any version, except for the one that returns the version.
var versionedName = regexp.MustCompile(`^hf(\d+)_`)

// Load loads the functions unless the server already has exactly these. Only leaders have permission to do so. A library of
// another protocol version is not replaced, because the agents of running pods use it and this version does not understand its
// data.
func (s *Store) Load(ctx context.Context) error {
	loaded, err := s.client.FunctionList(ctx, redis.FunctionListQuery{LibraryNamePattern: allLibraries, WithCode: true}).Result()
	if err != nil {
		return fmt.Errorf("listing the store's functions: %w", unreachable(err))
	}
	for _, library := range loaded {
		if other := versionOf(library); other != "" {
			return &coordination.VersionError{Store: other}
		}
	}
	if slices.ContainsFunc(loaded, func(library redis.Library) bool { return library.Code == rounds.Library }) {
		return nil
	}
	if err := s.client.FunctionLoadReplace(ctx, rounds.Library).Err(); err != nil {
		return fmt.Errorf("loading the store's functions: %w", unreachable(err))
	}
	return nil
}

// versionOf returns the protocol version that a library serves, or "" if it serves this version or none.
func versionOf(library redis.Library) string {
	for _, function := range library.Functions {
		if name := versionedName.FindStringSubmatch(function.Name); name != nil && name[1] != rounds.Version {
			return name[1]
		}
	}
	return ""
}

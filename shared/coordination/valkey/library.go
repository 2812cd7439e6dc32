package valkey

import (
	"context"
	"embed"
	"fmt"
	"path"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var luaFiles embed.FS

// libraryCode is the function library: the files in the order of their names.
var libraryCode = concatenated()

func concatenated() string {
	files, err := luaFiles.ReadDir("lua")
	if err != nil {
		panic(err) // embedded
	}
	var code strings.Builder
	for _, f := range files {
		text, err := luaFiles.ReadFile(path.Join("lua", f.Name()))
		if err != nil {
			panic(err) // embedded
		}
		code.Write(text)
	}
	return code.String()
}

// EnsureLibrary loads the functions unless the server has exactly these. Only leaders may; agents call them.
func (s *Store) EnsureLibrary(ctx context.Context) error {
	loaded, err := s.client.FunctionList(ctx, redis.FunctionListQuery{LibraryNamePattern: library, WithCode: true}).Result()
	if err != nil {
		return fmt.Errorf("listing the store's functions: %w", err)
	}
	if len(loaded) == 1 && loaded[0].Code == libraryCode {
		return nil
	}
	if err := s.client.FunctionLoadReplace(ctx, libraryCode).Err(); err != nil {
		return fmt.Errorf("loading the store's functions: %w", err)
	}
	return nil
}

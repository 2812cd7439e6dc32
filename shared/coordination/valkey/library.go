package valkey

import (
	"context"
	"embed"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var luaFiles embed.FS

// libraryCode is the function library of a protocol version, which serves the members of the version before as well: the
// files in the order of their names.
func libraryCode(version int64) string {
	served := make([]string, 0, 2)
	for _, v := range spoken(version) {
		served = append(served, strconv.Quote(strconv.FormatInt(v, 10)))
	}
	return fmt.Sprintf("#!lua name=%s\nlocal VERSIONS = { %s }\n%s", library, strings.Join(served, ", "), rules)
}

var rules = concatenated()

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

// EnsureLibrary loads the functions unless the server has exactly these. Only leaders may; agents call them. A library of
// another version is replaced: what is stored stays, and both serve the members of the lower one.
func (s *Store) EnsureLibrary(ctx context.Context) error {
	loaded, err := s.client.FunctionList(ctx, redis.FunctionListQuery{LibraryNamePattern: library, WithCode: true}).Result()
	if err != nil {
		return fmt.Errorf("listing the store's functions: %w", err)
	}
	code := libraryCode(s.options.version)
	if len(loaded) == 1 && loaded[0].Code == code {
		return nil
	}
	if err := s.client.FunctionLoadReplace(ctx, code).Err(); err != nil {
		return fmt.Errorf("loading the store's functions: %w", err)
	}
	return nil
}

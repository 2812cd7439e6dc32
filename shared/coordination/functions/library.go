package functions

import (
	"embed"
	"fmt"
	"path"
	"strings"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

//go:embed lua/*.lua
var luaFiles embed.FS

// LibraryName is the name of the function library in the store.
const LibraryName = "holdfast"

// Library is the function library: a line with its name, one with the version of the protocol, and the files in the order of
// their names.
var Library = fmt.Sprintf("#!lua name=%s\nlocal VERSION = %q\n%s", LibraryName, coordination.Version, concatenated())

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

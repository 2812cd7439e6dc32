package binaries

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// Root finds the repository: above the working directory, or otherwise where this file was compiled.
func Root() (string, error) {
	var starts []string
	if dir, err := os.Getwd(); err == nil {
		starts = append(starts, dir)
	}
	if _, file, _, ok := runtime.Caller(0); ok {
		starts = append(starts, filepath.Dir(file))
	}
	for _, start := range starts {
		for dir := start; ; dir = filepath.Dir(dir) {
			if isRoot(dir) {
				return dir, nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", errors.New("the repository was not found: run this within it")
}

func isRoot(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "tools", "kubernetes", "go.mod"))
	return err == nil
}

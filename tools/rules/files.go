package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// eachGoFile calls show for every Go file below the root, with its relative path. Hidden directories are
// skipped.
func eachGoFile(root string, show func(path, content string)) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != root:
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err == nil {
			show(relative, string(content))
		}
		return err
	})
}

func within(path string, folders ...string) bool {
	for _, folder := range folders {
		if strings.HasPrefix(path, folder) {
			return true
		}
	}
	return false
}

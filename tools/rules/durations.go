package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// checkDurations: annotations and specs of users are parsed by shared/grace only.
func checkDurations(root string) ([]string, error) {
	var breaches []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != root:
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		relative, err := filepath.Rel(root, path)
		if err != nil || exempt(relative) {
			return err
		}
		content, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(content), "time.ParseDuration(") {
			breaches = append(breaches, fmt.Sprintf("%s calls time.ParseDuration: use shared/grace", relative))
		}
		return err
	})
	return breaches, err
}

func exempt(path string) bool {
	for _, prefix := range []string{"shared/grace/", "tools/", "e2e/"} {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

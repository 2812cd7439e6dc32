// Command rules checks what golangci-lint cannot check: indirect dependencies between packages, the layers of files within
// packages, unused metrics, and the versions in go.mod files. It prints all violations and exits with 1 if there are any.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	var breaches []string
	for _, check := range []func(root string) ([]string, error){checkImports, checkLayers, checkMetrics, checkVersions} {
		found, err := check(root)
		if err != nil {
			fmt.Fprintln(os.Stderr, "rules:", err)
			os.Exit(2)
		}
		breaches = append(breaches, found...)
	}
	for _, breach := range breaches {
		fmt.Fprintln(os.Stderr, "rules:", breach)
	}
	if len(breaches) > 0 {
		os.Exit(1)
	}
}

// modules returns the directories of all modules at the root and one level below, except for the pinned tools.
func modules(root string) ([]string, error) {
	var folders []string
	for _, pattern := range []string{"*", "[^t]*/*"} {
		files, err := filepath.Glob(filepath.Join(root, pattern, "go.mod"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			folders = append(folders, filepath.Dir(file))
		}
	}
	return folders, nil
}

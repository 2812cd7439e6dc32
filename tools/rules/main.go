// Command rules checks what no compiler does: who may import whom, that durations of users are parsed in one place,
// that metrics are defined in one place, and that all modules agree on versions. It prints every breach and exits 1 if there is any.
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
	for _, check := range []func(root string) ([]string, error){checkImports, checkDurations, checkMetrics, checkVersions} {
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

// modules returns the folders of the modules that make up the product: those at the root, and those one level below it except for the pinned tools.
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

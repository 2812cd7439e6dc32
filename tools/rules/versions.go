package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// checkVersions checks that all modules of the workspace require the same Go version, and the same version of each direct or indirect
// dependency. A module that users build on its own then has the versions that were tested in the workspace, and no dependency is compiled
// twice. Modules outside the workspace need different versions.
func checkVersions(root string) ([]string, error) {
	folders, err := workspace(root)
	if err != nil {
		return nil, err
	}
	type first struct{ version, file string }
	seen := map[string]first{}
	var breaches []string
	for _, folder := range folders {
		requires, err := requirements(filepath.Join(folder, "go.mod"))
		if err != nil {
			return nil, err
		}
		name, err := filepath.Rel(root, folder)
		if err != nil {
			return nil, err
		}
		for module, version := range requires {
			f, known := seen[module]
			switch {
			case !known:
				seen[module] = first{version, name}
			case f.version != version:
				breaches = append(breaches, fmt.Sprintf("%s is %s in %s and %s in %s: run go work sync, and then go mod tidy in each module", module, f.version, f.file, version, name))
			}
		}
	}
	return breaches, nil
}

// workspace returns the directories of the modules in go.work.
func workspace(root string) ([]string, error) {
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}}")
	cmd.Dir, cmd.Env, cmd.Stderr = root, append(os.Environ(), "GOWORK="), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the modules of the workspace: %w", err)
	}
	return strings.Fields(string(out)), nil
}

// requirements returns the modules that a go.mod file requires, with their versions, and its Go version.
func requirements(file string) (map[string]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	requires := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line, _, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "require "), "// indirect")
		words := strings.Fields(line)
		if len(words) == 2 && (words[0] == "go" || strings.HasPrefix(words[1], "v")) {
			requires[words[0]] = words[1]
		}
	}
	return requires, nil
}

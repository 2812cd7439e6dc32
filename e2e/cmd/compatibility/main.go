// Command compatibility maintains the record of the versions that the tests ran with, and generates
// docs/compatibility.md from it.
//
//	compatibility record COMPONENT VERSION SUITE   records that a suite has passed today
//	compatibility page                             generates the page
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-project/holdfast/e2e/testbed/binaries"
)

const (
	resultsFile = "docs/compatibility/results.json"
	pageFile    = "docs/compatibility.md"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "compatibility:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	root, err := binaries.Root()
	if err != nil {
		return err
	}
	results, err := read(filepath.Join(root, resultsFile))
	if err != nil {
		return err
	}
	switch {
	case len(args) == 4 && args[0] == "record":
		results = results.record(args[1], args[2], args[3], time.Now())
		if err := results.write(filepath.Join(root, resultsFile)); err != nil {
			return err
		}
	case len(args) == 1 && args[0] == "page":
	default:
		return errors.New("usage: compatibility record COMPONENT VERSION SUITE | page")
	}
	return os.WriteFile(filepath.Join(root, pageFile), results.page(), 0o644)
}

// Package suites starts and ends the end-to-end suites, which are the packages in its subfolders. It also contains the
// code that they share.
package suites

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-project/holdfast/e2e/framework/permissions"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

// keep is the variable that keeps the cluster running after the tests, for inspection.
const keep = "HOLDFAST_KEEP_TESTBED"

// Kept reports whether the testbed keeps running at the end.
func Kept() bool { return os.Getenv(keep) != "" }

// Begin sets up what the tests need. It returns a function to call after them, while the testbed still runs.
type Begin func(ctx context.Context, progress io.Writer) (end func(context.Context) error, err error)

// Main runs the tests and returns the exit code. It records the rights that our programs have used, for the suite
// permissions, and takes the testbed down.
func Main(begin Begin, tests interface{ Run() int }) int {
	ctx := context.Background()
	code, err := run(ctx, begin, tests)
	if !Kept() {
		err = errors.Join(err, testbed.DownClean(ctx, os.Stdout))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	return code
}

// keepPermissions saves the record under the name of the suite. Tests run in the suite's folder, from which the name is
// derived.
func keepPermissions() error {
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	return permissions.Keep(suiteName(folder))
}

// suiteName returns the name of the suite in a folder, without slashes.
func suiteName(folder string) string {
	_, below, _ := strings.Cut(filepath.ToSlash(folder), "/e2e/suites/")
	return strings.ReplaceAll(below, "/", "-")
}

func run(ctx context.Context, begin Begin, tests interface{ Run() int }) (int, error) {
	end, err := begin(ctx, os.Stdout)
	if err != nil {
		return 1, err
	}
	code := tests.Run()
	return code, errors.Join(end(ctx), keepPermissions())
}

// Package suite is how every end-to-end suite begins and ends.
package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/holdfast-project/holdfast/e2e/rights"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

// keep is the variable that leaves the cluster up after the tests, for looking around.
const keep = "HOLDFAST_KEEP_TESTBED"

// Kept tells whether the testbed is left up at the end.
func Kept() bool { return os.Getenv(keep) != "" }

// Begin brings up what the tests need, and returns what is to be done after them while the testbed is still there.
type Begin func(ctx context.Context, progress io.Writer) (end func(context.Context) error, err error)

// Main runs the tests and returns the exit code. What our programs have used of their rights is kept for the last of all suites to look at.
// Whatever happens, the testbed is down at the end, and nothing of it is left.
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

// keepRights names the record like the folder of the suite, which is where its tests run.
func keepRights() error {
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	return rights.Keep(filepath.Base(folder))
}

func run(ctx context.Context, begin Begin, tests interface{ Run() int }) (int, error) {
	end, err := begin(ctx, os.Stdout)
	if err != nil {
		return 1, err
	}
	code := tests.Run()
	return code, errors.Join(end(ctx), keepRights())
}

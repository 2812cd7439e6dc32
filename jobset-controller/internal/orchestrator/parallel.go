package orchestrator

import (
	"errors"
	"sync"
)

// callsAtATime bounds how many API calls one reconcile has in flight: what is lost is repaired in chunks of this size, so that a lost rack
// costs a few rounds of calls and not one call after the other.
const callsAtATime = 16

// inParallel calls f for each index below n at once and returns all errors.
func inParallel(n int, f func(i int) error) error {
	errs := make([]error, n)
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() { errs[i] = f(i) })
	}
	calls.Wait()
	return errors.Join(errs...)
}

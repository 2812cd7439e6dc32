// Package contract is the test that every coordination.Store must pass: the rules of the protocol as short scripts, what
// a Watch sees. For servers there is a comparison with the store in the process, call by call, on random sequences.
package contract

import (
	"testing"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// Harness is an empty store under test, and the faults that a test may inject.
type Harness struct {
	Store coordination.Store
	Save  func() (restore func()) // copies all data; restore sets the store back to the copy
	Lose  func()                  // loses all data
}

// Run tests the stores that newStore makes.
func Run(t *testing.T, newStore func(t *testing.T) Harness) {
	t.Run("Rules", func(t *testing.T) { testRules(t, newStore) })
	t.Run("Arguments", func(t *testing.T) { testArguments(t, newStore) })
	t.Run("Clocks", func(t *testing.T) { testClocks(t, newStore) })
	t.Run("Records", func(t *testing.T) { testRecords(t, newStore) })
	t.Run("Groups", func(t *testing.T) { testGroups(t, newStore) })
	t.Run("Watch", func(t *testing.T) { testWatch(t, newStore) })
}

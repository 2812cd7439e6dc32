package memory_test

import (
	"testing"

	"github.com/holdfast-project/holdfast/shared/coordination/contract"
)

func TestContract(t *testing.T) {
	contract.Run(t, func(*testing.T) contract.Harness { return contract.InMemory() })
}

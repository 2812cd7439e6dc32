package valkey

import (
	"testing"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/contract"
)

func TestContract(t *testing.T) {
	server := newServer(t)
	contract.Run(t, server.harness(server.store(t, patient)))
}

// TestTheInterpreterConforms: what tests and the simulation play in the process is what a server runs.
func TestTheInterpreterConforms(t *testing.T) {
	server := newServer(t)
	contract.Conform(t, server.harness(server.store(t, patient)))
}

// harness begins with an empty server each time.
func (s *server) harness(store coordination.Store) func(*testing.T) contract.Harness {
	lose := func() {
		s.do("FLUSHALL")
		s.do("FUNCTION", "FLUSH")
	}
	return func(*testing.T) contract.Harness {
		s.do("FLUSHALL")
		return contract.Harness{
			Store: store,
			Save: func() func() {
				dump := s.dump()
				return func() { s.load(dump) }
			},
			Lose: lose,
		}
	}
}

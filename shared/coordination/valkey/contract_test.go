package valkey

import (
	"testing"

	"github.com/holdfast-project/holdfast/shared/coordination/contract"
)

func TestContract(t *testing.T) {
	server := newServer(t)
	store := server.store(t, patient)
	contract.Run(t, func(*testing.T) contract.Harness {
		server.do("FLUSHALL")
		return contract.Harness{
			Store: store,
			Save: func() func() {
				dump := server.dump()
				return func() { server.load(dump) }
			},
			Lose: func() {
				server.do("FLUSHALL")
				server.do("FUNCTION", "FLUSH")
			},
		}
	})
}

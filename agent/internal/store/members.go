package store

import (
	"log/slog"

	"github.com/holdfast-project/holdfast/agent/internal/config"
	"github.com/holdfast-project/holdfast/shared/coordination/relay"
	"github.com/holdfast-project/holdfast/shared/coordination/relay/tcp"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Members prepares how an agent uses the store: directly, or in a large group through a relay.
func Members(c config.Store, i config.Identity, name string, log *slog.Logger) (*tcp.Members, error) {
	return tcp.New(tcp.Options{
		Plan:    relay.Plan{From: c.RelayFrom, Per: relay.DefaultPer},
		Own:     rounds.Slot{Name: i.WorkerID, Pod: i.PodUID},
		Address: c.Address,
		Open:    func() (tcp.Store, error) { return Open(c, name) },
		Log:     log,
	})
}

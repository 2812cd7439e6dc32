// Package store connects an agent to the group store.
package store

import (
	"log/slog"

	"github.com/holdfast-project/holdfast/agent/internal/config"
	"github.com/holdfast-project/holdfast/shared/coordination/relay"
	"github.com/holdfast-project/holdfast/shared/coordination/relay/tcp"
	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
)

// Open prepares a connection, which appears as name in the server's client list. Passwords and certificates are read
// again for each connection, so that they can be rotated while a worker is running.
func Open(c config.Store, name string) (*valkey.Store, error) {
	return valkey.New(valkey.Options{
		Address: c.Address, Username: c.Username, PasswordFile: c.PasswordFile, ClientName: name, TLS: c.TLS,
	})
}

// Members prepares an agent's access to the store: directly or, in a large group, through a relay.
func Members(c config.Store, name string, log *slog.Logger) (*tcp.Members, error) {
	return tcp.New(tcp.Options{
		Plan:    relay.Plan{From: c.RelayFrom, Per: relay.DefaultPer},
		Address: c.Address,
		Open:    func() (tcp.Store, error) { return Open(c, name) },
		Log:     log,
	})
}

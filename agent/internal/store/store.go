// Package store connects an agent to the group store.
package store

import (
	"github.com/holdfast-project/holdfast/agent/internal/config"
	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
)

// Open prepares a connection. name is shown in the server's client list. Passwords and certificates are read again for
// each connection, so that they can be rotated while a worker runs.
func Open(c config.Store, name string) (*valkey.Store, error) {
	return valkey.New(valkey.Options{
		Address: c.Address, Username: c.Username, PasswordFile: c.PasswordFile, ClientName: name,
		TLS: valkey.TLSFiles{CA: c.CAFile, Cert: c.CertFile, Key: c.KeyFile, ServerName: c.ServerName},
	})
}

package server

import (
	"log/slog"
	"time"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/flat"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/healing"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/tcpstore"
)

// Config holds the settings of a server.
type Config struct {
	// RunID is the rendezvous ID of the job. Keys of other jobs are refused.
	RunID   string
	Store   flat.Usage // limits of the store
	Value   int        // limit of one value, in bytes
	Healing healing.Settings
	// Connections limits the open connections. The server closes further ones at once.
	Connections int
	// Patience is how long a client may take to finish a message it has begun, or to receive a reply.
	Patience time.Duration
	Log      *slog.Logger
}

// Defaults returns the defaults of the command's flags.
func Defaults() Config {
	return Config{
		Store:       flat.Usage{Keys: 100_000, Bytes: 32 << 20},
		Value:       4 << 20,
		Healing:     healing.Settings{Grace: 5 * time.Second, Gap: 2 * time.Second},
		Connections: 10_000,
		Patience:    10 * time.Second,
		Log:         slog.New(slog.DiscardHandler),
	}
}

// message returns the limits of one message of TCPStore.
func (c Config) message() tcpstore.Limits {
	return tcpstore.Limits{Key: 4 << 10, Value: c.Value, Keys: 16 << 10, Total: 2 * c.Value}
}

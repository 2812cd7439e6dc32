package server

import (
	"log/slog"
	"time"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/flat"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/healing"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/tcpstore"
)

// Config configures a server.
type Config struct {
	// RunID is the rendezvous ID of the job. Requests for keys of other jobs are rejected.
	RunID   string
	Store   flat.Usage // limits of the store
	Value   int        // maximum size of a value in bytes
	Healing healing.Settings
	// Connections is the maximum number of open connections. The server closes further connections immediately.
	Connections int
	// Timeout is how long a client may take to send the rest of a message, or to receive a reply.
	Timeout time.Duration
	Log     *slog.Logger
}

// Defaults returns the defaults. RunID has none.
func Defaults() Config {
	return Config{
		Store:       flat.Usage{Keys: 100_000, Bytes: 32 << 20},
		Value:       4 << 20,
		Healing:     healing.Settings{Grace: 5 * time.Second, Gap: 2 * time.Second},
		Connections: 10_000,
		Timeout:     10 * time.Second,
		Log:         slog.New(slog.DiscardHandler),
	}
}

// message returns the limits of one message.
func (c Config) message() tcpstore.Limits {
	return tcpstore.Limits{Key: 4 << 10, Value: c.Value, Keys: 16 << 10, Total: 2 * c.Value}
}

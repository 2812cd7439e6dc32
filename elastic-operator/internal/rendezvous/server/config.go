package server

import (
	"log/slog"
	"time"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/healing"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/jobs"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/quota"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/tcpstore"
)

// Config is what a server is told.
type Config struct {
	Jobs    *jobs.Table
	Quota   quota.Limits // of each job
	Value   int          // bytes of one value
	Healing healing.Settings
	// Connections is how many there may be at a time; more are closed as they come.
	Connections int
	// Patience is how long a client may take for a message that it has begun, or for taking a reply.
	Patience time.Duration
	Log      *slog.Logger
}

// Defaults are those of the command's flags.
func Defaults() Config {
	return Config{
		Quota:       quota.Limits{Keys: 100_000, Bytes: 32 << 20},
		Value:       4 << 20,
		Healing:     healing.Settings{Grace: 5 * time.Second, Gap: 2 * time.Second},
		Connections: 10_000,
		Patience:    10 * time.Second,
		Log:         slog.New(slog.DiscardHandler),
	}
}

// message is what one message of TCPStore may hold.
func (c Config) message() tcpstore.Limits {
	return tcpstore.Limits{Key: 4 << 10, Value: c.Value, Keys: 16 << 10, Total: 2 * c.Value}
}

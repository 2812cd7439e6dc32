// Package config reads the settings of the agent and the supervisor from flags and environment variables. It reports
// all errors together, each with its flag, its variable and how to fix it, so that a manifest is corrected in one go.
package config

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// Names of the flags.
const (
	jobSetUID       = "worker-jobset-uid"
	workerID        = "worker-id"
	podUID          = "worker-pod-uid"
	podEpoch        = "worker-pod-epoch"
	containerName   = "worker-container-name"
	gracePeriod     = "worker-termination-grace-period"
	criSocket       = "cri-socket-path"
	pollingInterval = "cri-polling-interval"
	valkeyAddress   = "valkey-address"
	valkeyUsername  = "valkey-username"
	valkeyPassword  = "valkey-password-file"
	valkeyCA        = "valkey-tls-ca-file"
	valkeyCert      = "valkey-tls-cert-file"
	valkeyKey       = "valkey-tls-key-file"
	valkeyServer    = "valkey-tls-server-name"
	relayFrom       = "relay-from"
	checkpointGrace = "checkpoint-grace-period"
	podGrace        = "pod-termination-grace-period"
	maxStops        = "max-stops-per-minute"
	aloneLimit      = "exit-without-store-after"
	readyPort       = "ready-port"
	startupDir      = "startup-dir"
	removeStopped   = "remove-stopped-containers"
	logLevel        = "log-level"
	podName         = "pod-name"
	nodeName        = "node-name"
	progressTimeout = "progress-timeout"
	progressStart   = "progress-start-timeout"
	progressFrom    = "progress-from"
	roundVariables  = "round-variables"
	podSlot         = "pod-slot"
	firstGlobal     = "first-job-global-index"
	firstGroup      = "first-job-group-index"
)

// Config holds the settings of the agent.
type Config struct {
	Identity
	Store           Store
	ContainerName   string
	GracePeriod     time.Duration
	CRISocket       string // a path, without unix://
	PollingInterval time.Duration
	ReadyPort       int
	StartupDir      string
	RemoveStopped   bool
	LogLevel        slog.Level
}

// Identity identifies the worker.
type Identity struct {
	JobSetUID string // the group
	WorkerID  string // the slot
	PodUID    string
	PodEpoch  int64              // generation for which the pod was created; 0 if unknown
	Place     coordination.Place // shown to people, may be empty
}

// Store says how to reach the store. Files are paths, and empty ones are not used. Without a CA, TLS is off.
type Store struct {
	Address, Username, PasswordFile string
	CAFile, CertFile, KeyFile       string
	ServerName                      string // expected in the store's certificate; empty: the host of the address
	RelayFrom                       int64  // workers of a replicatedJob from which on some relay for others; 0: never
}

// Help is the help text. Parse returns it as an error for -h.
type Help string

func (Help) Error() string { return "help was asked for" }

// Problems lists everything that is wrong with the settings.
type Problems []string

func (p Problems) Error() string {
	return fmt.Sprintf("cannot start, %d setting(s) to correct:\n  - %s", len(p), strings.Join(p, "\n  - "))
}

// problems collects Problems.
type problems struct{ list Problems }

func (p *problems) add(format string, args ...any) {
	p.list = append(p.list, fmt.Sprintf(format, args...))
}

// Parse reads the agent's settings. A flag takes precedence over its environment variable, and that over the default.
// The error is a Help or Problems.
func Parse(args []string, getenv func(string) string) (Config, error) {
	var p problems
	s := agent.settings(getenv)
	if err := s.parse(args, agent.title, &p); err != nil {
		return Config{}, err
	}
	c := s.check(&p)
	if len(p.list) > 0 {
		return Config{}, p.list
	}
	return c, nil
}

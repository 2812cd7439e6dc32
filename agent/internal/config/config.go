// Package config reads the agent's settings from flags and environment. All that is wrong is told together, each with its
// flag, its variable and what to do, so that a manifest needs one correction and not five.
package config

import (
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Names of the flags.
const (
	jobSetUID       = "worker-jobset-uid"
	workerID        = "worker-id"
	podUID          = "worker-pod-uid"
	containerName   = "worker-container-name"
	gracePeriod     = "worker-termination-grace-period"
	criSocket       = "cri-socket-path"
	pollingInterval = "cri-polling-interval"
	valkeyAddress   = "valkey-address"
	valkeyUsername  = "valkey-username"
	valkeyPassword  = "valkey-password-file"
	readyPort       = "ready-port"
	startupDir      = "startup-dir"
	removeStopped   = "remove-stopped-containers"
	logLevel        = "log-level"
)

// Config is what the agent runs with.
type Config struct {
	JobSetUID          string // the group
	WorkerID           string // the slot
	PodUID             string
	ContainerName      string
	GracePeriod        time.Duration
	CRISocket          string // a path, without unix://
	PollingInterval    time.Duration
	ValkeyAddress      string
	ValkeyUsername     string
	ValkeyPasswordFile string
	ReadyPort          int
	StartupDir         string
	RemoveStopped      bool
	LogLevel           slog.Level
}

// Help is returned instead of a Config when -h is given; it is what to print.
type Help string

func (Help) Error() string { return "help was asked for" }

// Problems is all that is wrong with the settings.
type Problems []string

func (p Problems) Error() string {
	return fmt.Sprintf("the agent cannot start, %d setting(s) to correct:\n  - %s", len(p), strings.Join(p, "\n  - "))
}

// problems collects.
type problems struct{ list Problems }

func (p *problems) add(format string, args ...any) {
	p.list = append(p.list, fmt.Sprintf(format, args...))
}

// Parse reads flags over environment over defaults. The error is Help or Problems.
func Parse(args []string, getenv func(string) string) (Config, error) {
	var p problems
	s := known(getenv)
	if err := s.parse(args, &p); err != nil {
		return Config{}, err
	}
	c := s.check(&p)
	if len(p.list) > 0 {
		return Config{}, p.list
	}
	return c, nil
}

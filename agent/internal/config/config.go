// Package config reads the settings of the agent and the supervisor from flags and environment variables. It reports
// all errors at once, each with its flag, its variable and how to fix it, so that a manifest can be corrected in one
// go.
package config

import (
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// Flag names.
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
	PodEpoch  int64              // generation that the pod was created for; 0 if unknown
	Place     coordination.Place // for display; may be empty
}

// Store says how to reach the store. Files are given as paths; empty paths are ignored. Without a CA, TLS is disabled.
type Store struct {
	Address, Username, PasswordFile string
	CAFile, CertFile, KeyFile       string
	ServerName                      string // expected in the store's certificate; empty: the host in Address
	RelayFrom                       int64  // number of workers of a replicatedJob from which relays are used; 0: never
}

// Help is the help text. Parse returns it as an error for -h.
type Help string

func (Help) Error() string { return "help requested" }

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

// Parse reads the agent's settings. A flag takes precedence over its environment variable, which takes precedence over
// the default. The error is either Help or Problems.
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

// Sources of progress reports.
const (
	FromFile   = "file"
	FromSocket = "socket"
	FromOutput = "output"
)

// Exec holds the settings of the supervisor.
type Exec struct {
	Identity
	Store           Store
	GracePeriod     time.Duration // of a worker that must restart
	CheckpointGrace time.Duration // precedes GracePeriod while the worker writes a checkpoint
	PodGrace        time.Duration // of the pod
	MaxStops        int           // per minute
	// AloneLimit is how long a worker that is not running waits while the store is unreachable. 0 means forever.
	AloneLimit     time.Duration
	StartupDir     string // empty: none
	Progress       worker.Progress
	RoundVariables []string
	// Waits means that the slot already belonged to another pod when this pod was created.
	Waits bool
	// AnySlot means that the worker can run in any slot of its stage, whose first Job has these indexes.
	AnySlot                 bool
	FirstGlobal, FirstGroup int64
	ProgressFrom            string // FromFile, FromSocket or FromOutput
	LogLevel                slog.Level
	Command                 []string // of the worker, starting with the program
}

// ParseExec reads the supervisor's settings in the same way as Parse reads the agent's. The worker's command follows
// the first "--".
func ParseExec(args []string, getenv func(string) string) (Exec, error) {
	var p problems
	flags, command := args, []string(nil)
	if at := slices.Index(args, "--"); at >= 0 {
		flags, command = args[:at], args[at+1:]
	}
	s := supervisor.settings(getenv)
	if err := s.parse(flags, supervisor.title, &p); err != nil {
		return Exec{}, err
	}
	c := s.checkExec(&p)
	if c.Command = command; len(command) == 0 {
		p.add("nothing to run: add -- and the worker's command after the flags")
	}
	if len(p.list) > 0 {
		return Exec{}, p.list
	}
	return c, nil
}

func (s settings) checkExec(p *problems) Exec {
	c := Exec{
		Identity:        s.identity(p),
		Store:           s.store(p),
		GracePeriod:     s.duration(p, gracePeriod, 0, 0),
		CheckpointGrace: s.duration(p, checkpointGrace, 0, 0),
		PodGrace:        s.duration(p, podGrace, 30*time.Second, 0),
		MaxStops:        int(s.number(p, maxStops, s.text(p, maxStops), 1)),
		AloneLimit:      s.period(p, aloneLimit),
		StartupDir:      s.optionalFolder(p, startupDir),
		LogLevel:        s.level(p),
	}
	c.RoundVariables = s.variables(p, roundVariables)
	c.Waits = s[podSlot].value == waits
	if c.AnySlot = s[firstGlobal].value != ""; c.AnySlot {
		c.FirstGlobal, c.FirstGroup = s.number(p, firstGlobal, s.text(p, firstGlobal), 0), s.number(p, firstGroup, s.text(p, firstGroup), 0)
	}
	c.Progress, c.ProgressFrom = s.progress(p), s.text(p, progressFrom)
	if !slices.Contains([]string{FromFile, FromSocket, FromOutput}, c.ProgressFrom) {
		s.bad(p, progressFrom, fmt.Sprintf("is %q", c.ProgressFrom))
	}
	if c.Progress.Timeout > 0 && c.ProgressFrom != FromOutput && s[startupDir].value == "" {
		s.bad(p, startupDir, "is required with --"+progressTimeout+": it contains the worker's progress file or socket")
	}
	if c.CheckpointGrace > 0 && s[startupDir].value == "" {
		s.bad(p, startupDir, "is required with --"+checkpointGrace+": it contains the worker's checkpoint file")
	}
	return c
}

// progress returns the progress timeouts. They are at least one second, because the supervisor checks eight times per
// timeout.
func (s settings) progress(p *problems) worker.Progress {
	return worker.Progress{Timeout: s.period(p, progressTimeout), Start: s.period(p, progressStart)}
}

// period returns a duration that is either 0 or at least one second.
func (s settings) period(p *problems, name string) time.Duration {
	d := s.duration(p, name, 0, 0)
	if d > 0 && d < time.Second {
		s.bad(p, name, fmt.Sprintf("is %s", d))
	}
	return d
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (s settings) variables(p *problems, name string) []string {
	if s[name].value == "" {
		return nil
	}
	list := strings.Split(s[name].value, ",")
	if slices.ContainsFunc(list, func(v string) bool { return !variableName.MatchString(v) }) {
		s.bad(p, name, fmt.Sprintf("is %q", s[name].value))
		return nil
	}
	return list
}

func (s settings) optionalFolder(p *problems, name string) string {
	if s[name].value == "" {
		return ""
	}
	return s.folder(p, name)
}

// waits is the slot of a pod that is waiting for a slot to be assigned.
const waits = "-"

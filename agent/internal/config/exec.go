package config

import (
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// How a worker reports progress.
const (
	FromFile   = "file"
	FromSocket = "socket"
	FromOutput = "output"
)

// Exec holds the settings of the supervisor.
type Exec struct {
	Identity
	Store           Store
	GracePeriod     time.Duration // of a worker that is ordered to restart
	CheckpointGrace time.Duration // before GracePeriod, while the worker writes a checkpoint
	PodGrace        time.Duration // of the pod
	MaxStops        int           // per minute
	// AloneLimit is how long a worker that is not running waits for an unreachable store. 0 means forever.
	AloneLimit     time.Duration
	StartupDir     string // empty: none
	Progress       worker.Progress
	RoundVariables []string
	// Waits: another pod was given the slot when this pod was created.
	Waits bool
	// AnySlot: the worker can run in any slot of its stage, whose first Job has these indexes.
	AnySlot                 bool
	FirstGlobal, FirstGroup int64
	ProgressFrom            string // FromFile, FromSocket or FromOutput
	LogLevel                slog.Level
	Command                 []string // the worker's; the program comes first
}

// ParseExec reads the supervisor's settings the way Parse reads the agent's. The worker's command follows the first
// "--".
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
		p.add("there is nothing to run: put -- and the worker's command behind the flags")
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
		MaxStops:        s.count(p, maxStops),
		AloneLimit:      s.period(p, aloneLimit),
		StartupDir:      s.optionalFolder(p, startupDir),
		LogLevel:        s.level(p),
	}
	c.RoundVariables = s.variables(p, roundVariables)
	c.Waits = s[podSlot].value == waits
	if c.AnySlot = s[firstGlobal].value != ""; c.AnySlot {
		c.FirstGlobal, c.FirstGroup = s.index(p, firstGlobal), s.index(p, firstGroup)
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

// progress returns the timeouts for progress. They are a second or more, because the supervisor checks eight times per
// timeout.
func (s settings) progress(p *problems) worker.Progress {
	return worker.Progress{Timeout: s.period(p, progressTimeout), Start: s.period(p, progressStart)}
}

// period returns a duration of 0, or of a second or more.
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

// waits is the slot of a pod that waits until it is given one.
const waits = "-"

func (s settings) index(p *problems, name string) int64 {
	v := s.text(p, name)
	n, err := strconv.ParseInt(v, 10, 32)
	if v != "" && (err != nil || n < 0) {
		s.bad(p, name, fmt.Sprintf("is %q, not a number from 0 on", v))
	}
	return n
}

func (s settings) count(p *problems, name string) int {
	v := s.text(p, name)
	n, err := strconv.Atoi(v)
	if v != "" && (err != nil || n < 1) {
		s.bad(p, name, fmt.Sprintf("is %q, not a number from 1 on", v))
	}
	return n
}

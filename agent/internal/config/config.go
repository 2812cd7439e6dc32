// Package config reads the settings of the agent and the supervisor from flags and environment variables. It reports
// all errors at once, each with its flag, its variable and how to fix it, so that a manifest can be corrected in one
// go.
//
// Eight of the settings, with their environment variables, come from the manifest of JobSet KEP-876.
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

// Help is the help text. Parse returns it as an error for -h.
type Help string

func (Help) Error() string { return "help requested" }

// Problems lists everything that is wrong with the settings.
type Problems []string

func (p Problems) Error() string {
	return fmt.Sprintf("cannot start, %d setting(s) to correct:\n  - %s", len(p), strings.Join(p, "\n  - "))
}

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

// Parse reads the agent's settings. The error is a Help or Problems.
func Parse(args []string, getenv func(string) string) (Config, error) {
	var c Config
	r := reader{
		title:    "The Holdfast agent: a sidecar that restarts its worker together with the group.",
		settings: slices.Concat(c.Identity.settings(), c.Store.settings(), c.settings()),
	}
	if err := r.read(args, getenv); err != nil {
		return Config{}, err
	}
	c.Store.check(&r)
	return c, r.err()
}

func (c *Config) settings() []*setting {
	return []*setting{
		{
			flag: "worker-container-name", env: "WORKER_CONTAINER_NAME", initial: "worker", parse: text(&c.ContainerName),
			usage: "name of the worker's container",
			fix:   "specify the name in spec.containers",
		},
		gracePeriod(&c.GracePeriod, "10s"),
		{
			flag: "cri-socket-path", env: "CRI_SOCKET_PATH", initial: "unix:///run/containerd/containerd.sock", parse: socket(&c.CRISocket),
			usage: "socket of the container runtime",
			fix:   "specify unix:// and the absolute path at which the runtime's socket is mounted",
		},
		{
			flag: "cri-polling-interval", env: "CRI_POLLING_INTERVAL", initial: "1s", parse: duration(&c.PollingInterval, 10*time.Millisecond),
			usage: "interval between polls of the runtime while it sends no events",
		},
		{
			flag: "ready-port", env: "READY_PORT", initial: "80", parse: port(&c.ReadyPort),
			usage: "port of /ready",
			fix:   "specify a port from 1 to 65535, the same as in the startupProbe",
		},
		startupFolder(&c.StartupDir, "/app/startup"),
		{
			flag: "remove-stopped-containers", env: "REMOVE_STOPPED_CONTAINERS", initial: "true", parse: flagValue(&c.RemoveStopped),
			usage: "remove containers that were stopped by a restart order, so that the kubelet starts new ones without back-off; kubectl logs --previous does not show removed containers",
		},
		logLevel(&c.LogLevel),
	}
}

// gracePeriod returns the setting of the worker's grace period. The supervisor's default is 0s. A worker that is being
// restarted cannot save any state that its group still agrees on, unless it has announced that it is writing a
// checkpoint.
func gracePeriod(into *time.Duration, initial string) *setting {
	return &setting{
		flag: "worker-termination-grace-period", env: "WORKER_TERMINATION_GRACE_PERIOD", initial: initial, parse: duration(into, 0),
		usage: "time between the stop signal and SIGKILL when a restart order stops the worker",
	}
}

const startupDir = "startup-dir"

func startupFolder(into *string, initial string) *setting {
	return &setting{
		flag: startupDir, env: "STARTUP_DIR", initial: initial, parse: folder(into),
		usage: "folder on a volume with the lifetime of the pod",
		fix:   "mount an emptyDir there",
	}
}

func logLevel(into *slog.Level) *setting {
	return &setting{
		flag: "log-level", env: "LOG_LEVEL", initial: "info", parse: level(into),
		usage: "log level: debug, info, warn or error",
	}
}

// Identity identifies the worker.
type Identity struct {
	JobSetUID string // the group
	WorkerID  string // the slot
	PodUID    string
	PodEpoch  int64              // generation that the pod was created for; 0 if unknown
	Place     coordination.Place // for display; may be empty
}

var (
	// slotName matches slot names as the manifest builds them: the names of the JobSet and the replicatedJob, which
	// neither begin nor end with a dash, and two indexes. The name of a spare has "spares" as its Job index.
	slotName = regexp.MustCompile(`^[^-].*-.*[^-]-(0|[1-9][0-9]*|spares)-(0|[1-9][0-9]*)$`)
	// objectName matches text that could be the name of a pod or a node.
	objectName = regexp.MustCompile(`^[^ \t\n$]+$`)
)

func (i *Identity) settings() []*setting {
	return []*setting{
		{
			flag: "worker-jobset-uid", env: "JOBSET_UID", parse: text(&i.JobSetUID),
			usage: "UID of the JobSet",
			fix:   "set JOBSET_UID from metadata.annotations['jobset.sigs.k8s.io/jobset-uid']",
		},
		{
			flag: "worker-id", env: "JOBSET_NAME, REPLICATED_JOB_NAME, JOB_INDEX, JOB_COMPLETION_INDEX",
			parse: matching(&i.WorkerID, slotName, "<JobSet>-<replicatedJob>-<job index>-<completion index>"),
			usage: "slot of the worker: <JobSet>-<replicatedJob>-<job index>-<completion index>",
			fix:   "set the four variables from the pod's annotations jobset.sigs.k8s.io/{jobset-name,replicatedjob-name,job-index} and batch.kubernetes.io/job-completion-index",
		},
		{
			flag: "worker-pod-uid", env: "POD_UID", parse: text(&i.PodUID),
			usage: "UID of this pod",
			fix:   "set POD_UID from metadata.uid",
		},
		{
			flag: "worker-pod-epoch", env: "HOLDFAST_POD_EPOCH", optional: true, parse: number(&i.PodEpoch, 1),
			usage: "generation of the group that this pod was created for; the agent does not join an earlier one",
			fix:   "set HOLDFAST_POD_EPOCH from metadata.annotations['holdfast.dev/epoch'], or omit it",
		},
		{
			flag: "pod-name", env: "HOLDFAST_POD_NAME", optional: true, parse: matching(&i.Place.PodName, objectName, "a name"),
			usage: "name of this pod, for the restart history",
			fix:   "set HOLDFAST_POD_NAME from metadata.name",
		},
		{
			flag: "node-name", env: "HOLDFAST_NODE_NAME", optional: true, parse: matching(&i.Place.Node, objectName, "a name"),
			usage: "name of this pod's node, for the restart history",
			fix:   "set HOLDFAST_NODE_NAME from spec.nodeName",
		},
	}
}

// Sources of progress reports.
const (
	FromFile   = "file"
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
	AloneLimit time.Duration
	StartupDir string // empty: none
	// Progress has timeouts of a second or more, because the supervisor checks eight times per timeout.
	Progress       worker.Progress
	RoundVariables []string
	// Waits means that the slot already belonged to another pod when this pod was created.
	Waits bool
	// AnySlot means that the worker can run in any slot of its stage, whose first Job has these indexes.
	AnySlot                 bool
	FirstGlobal, FirstGroup int64
	Subdomain               string // of the pods; empty if their subdomain is unknown
	ProgressFrom            string // FromFile or FromOutput
	LogLevel                slog.Level
	Command                 []string // of the worker, starting with the program
}

// ParseExec reads the supervisor's settings in the same way as Parse reads the agent's. The worker's command follows
// the first "--".
func ParseExec(args []string, getenv func(string) string) (Exec, error) {
	var c Exec
	if at := slices.Index(args, "--"); at >= 0 {
		args, c.Command = args[:at], args[at+1:]
	}
	r := reader{
		title: `holdfast-exec [flags] -- command [arguments]: runs the command as a worker of its group, and restarts it together with the others.
holdfast-exec install DIR: copies itself there.`,
		settings: slices.Concat(c.Identity.settings(), c.Store.settings(), c.stopSettings(), c.progressSettings(), c.slotSettings()),
	}
	if err := r.read(args, getenv); err != nil {
		return Exec{}, err
	}
	c.Store.check(&r)
	if c.Progress.Timeout > 0 && c.ProgressFrom != FromOutput && c.StartupDir == "" {
		r.bad(startupDir, "is required with --"+progressTimeout+": it contains the worker's progress file")
	}
	if c.CheckpointGrace > 0 && c.StartupDir == "" {
		r.bad(startupDir, "is required with --"+checkpointGrace+": it contains the worker's checkpoint file")
	}
	if len(c.Command) == 0 {
		r.add("nothing to run: add -- and the worker's command after the flags")
	}
	return c, r.err()
}

const (
	checkpointGrace = "checkpoint-grace-period"
	progressTimeout = "progress-timeout"
)

// stopSettings returns the settings that configure how the worker is stopped, and those of the supervisor itself.
func (c *Exec) stopSettings() []*setting {
	volume := startupFolder(&c.StartupDir, "")
	volume.optional = true
	return []*setting{
		gracePeriod(&c.GracePeriod, "0s"),
		{
			flag: checkpointGrace, env: "CHECKPOINT_GRACE_PERIOD", initial: "0s", parse: duration(&c.CheckpointGrace, 0),
			usage: "how long a restart order waits for a worker that is writing a checkpoint, see HOLDFAST_CHECKPOINT_FILE",
		},
		{
			flag: "pod-termination-grace-period", env: "POD_TERMINATION_GRACE_PERIOD", initial: "30s", parse: duration(&c.PodGrace, 0),
			usage: "terminationGracePeriodSeconds of the pod; when the pod is deleted, the worker is killed shortly before this time",
		},
		{
			flag: "max-stops-per-minute", env: "MAX_STOPS_PER_MINUTE", initial: "60", parse: number(&c.MaxStops, 1),
			usage: "maximum number of restart orders per minute; the supervisor rejects more, and requests a recreation of the group",
		},
		{
			flag: "exit-without-store-after", env: "EXIT_WITHOUT_STORE_AFTER", initial: "0s", parse: period(&c.AloneLimit),
			usage: "how long a worker that is not running waits for an unreachable store before the supervisor exits, so that the owner of the pod handles it; 0s means no limit",
		},
		volume,
		logLevel(&c.LogLevel),
	}
}

func (c *Exec) progressSettings() []*setting {
	return []*setting{
		{
			flag: progressTimeout, env: "PROGRESS_TIMEOUT", initial: "0s", parse: period(&c.Progress.Timeout),
			usage: "a worker that reports no progress for this long is considered hung: it is killed, and the group restarts; 0s disables this",
		},
		{
			flag: "progress-start-timeout", env: "PROGRESS_START_TIMEOUT", initial: "0s", parse: period(&c.Progress.Start),
			usage: "maximum time from the start of a worker to its first progress report; 0s means no limit",
		},
		{
			flag: "progress-from", env: "PROGRESS_FROM", initial: FromFile,
			parse: matching(&c.ProgressFrom, regexp.MustCompile(`^(file|output)$`), "file or output"),
			usage: "how the worker reports progress: file (it touches HOLDFAST_PROGRESS_FILE) or output (it writes output)",
		},
	}
}

// slotSettings returns the settings that let a pod work in a slot other than its own. The last one names variables that
// change with each restart, in addition to those that every driver sets.
func (c *Exec) slotSettings() []*setting {
	first := number(&c.FirstGlobal, 0)
	return []*setting{
		{
			flag: "pod-slot", env: "HOLDFAST_POD_SLOT", optional: true,
			parse: func(v string) error {
				c.Waits = v == "-"
				return nil
			},
			usage: "slot assigned to the pod, or a dash while it waits for one to be assigned; empty if it works in its own slot",
			fix:   "set HOLDFAST_POD_SLOT from metadata.annotations['holdfast.dev/slot']",
		},
		{
			flag: "first-job-global-index", env: "HOLDFAST_FIRST_JOB_GLOBAL_INDEX", optional: true,
			parse: func(v string) error {
				c.AnySlot = true
				return first(v)
			},
			usage: "job-global-index of the first Job of the replicatedJob; if set, the worker follows slots that move to other pods, and can run in any slot of the replicatedJob",
		},
		{
			flag: "first-job-group-index", env: "HOLDFAST_FIRST_JOB_GROUP_INDEX", optional: true, parse: number(&c.FirstGroup, 0),
			usage: "job-group-index of the first Job of the replicatedJob",
		},
		{
			flag: "subdomain", env: "HOLDFAST_SUBDOMAIN", optional: true, parse: text(&c.Subdomain),
			usage: "subdomain of the pods; host names of slots end in it",
		},
		{
			flag: "round-variables", env: "ROUND_VARIABLES", optional: true, parse: variables(&c.RoundVariables),
			usage: "comma-separated environment variables of the worker, such as the name of a rendezvous; each start appends -<generation>-<restart count> to their values",
		},
	}
}

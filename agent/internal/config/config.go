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

// Config holds the agent's settings.
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
		newSetting("worker-container-name", "WORKER_CONTAINER_NAME", text(&c.ContainerName), "name of the worker's container in spec.containers").
			or("worker"),
		gracePeriod(&c.GracePeriod).or("10s"),
		newSetting("cri-socket-path", "CRI_SOCKET_PATH", socket(&c.CRISocket),
			"unix:// and the absolute path at which the socket of the container runtime is mounted").or("unix:///run/containerd/containerd.sock"),
		newSetting("cri-polling-interval", "CRI_POLLING_INTERVAL", duration(&c.PollingInterval, 10*time.Millisecond),
			"interval between polls of the runtime while it sends no events").or("1s"),
		newSetting("ready-port", "READY_PORT", number(&c.ReadyPort, 1), "port of /ready, the same as in the startupProbe").or("80"),
		startupFolder(&c.StartupDir).or("/app/startup"),
		newSetting("remove-stopped-containers", "REMOVE_STOPPED_CONTAINERS", flagValue(&c.RemoveStopped),
			"remove containers that were stopped by a restart order, so that the kubelet starts new ones without back-off; kubectl logs --previous does not show removed containers").
			or("true"),
		logLevel(&c.LogLevel),
	}
}

// gracePeriod returns the setting for the worker's grace period. The supervisor's default is 0s. A worker that is being
// restarted cannot save any state that its group still agrees on, unless it has announced that it is writing a
// checkpoint.
func gracePeriod(into *time.Duration) *setting {
	return newSetting("worker-termination-grace-period", "WORKER_TERMINATION_GRACE_PERIOD", duration(into, 0),
		"time between the stop signal and SIGKILL when a restart order stops the worker")
}

const startupDir = "startup-dir"

func startupFolder(into *string) *setting {
	return newSetting(startupDir, "STARTUP_DIR", folder(into), "folder on a volume with the lifetime of the pod, such as an emptyDir")
}

func logLevel(into *slog.Level) *setting {
	return newSetting("log-level", "LOG_LEVEL", level(into), "log level: debug, info, warn or error").or("info")
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
		newSetting("worker-jobset-uid", "JOBSET_UID", text(&i.JobSetUID),
			"UID of the JobSet, from metadata.annotations['jobset.sigs.k8s.io/jobset-uid']"),
		newSetting("worker-id", "JOBSET_NAME, REPLICATED_JOB_NAME, JOB_INDEX, JOB_COMPLETION_INDEX",
			matching(&i.WorkerID, slotName.MatchString, "<JobSet>-<replicatedJob>-<job index>-<completion index>"),
			"slot of the worker: <JobSet>-<replicatedJob>-<job index>-<completion index>, from the pod's annotations jobset.sigs.k8s.io/{jobset-name,replicatedjob-name,job-index} and batch.kubernetes.io/job-completion-index"),
		newSetting("worker-pod-uid", "POD_UID", text(&i.PodUID), "UID of this pod, from metadata.uid"),
		newSetting("worker-pod-epoch", "HOLDFAST_POD_EPOCH", number(&i.PodEpoch, 1),
			"generation of the group that this pod was created for, from metadata.annotations['holdfast.dev/epoch']; the agent does not join an earlier one").
			orNone(),
		newSetting("pod-name", "HOLDFAST_POD_NAME", matching(&i.Place.PodName, objectName.MatchString, "a name"),
			"name of this pod, for the restart history, from metadata.name").orNone(),
		newSetting("node-name", "HOLDFAST_NODE_NAME", matching(&i.Place.Node, objectName.MatchString, "a name"),
			"name of this pod's node, for the restart history, from spec.nodeName").orNone(),
	}
}

// Sources of progress reports.
const (
	FromFile   = "file"
	FromOutput = "output"
)

// Exec holds the supervisor's settings.
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
	// AnySlot means that the worker can run in any slot of its stage. FirstGlobal and FirstGroup are the indexes of the
	// stage's first Job.
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
	return []*setting{
		gracePeriod(&c.GracePeriod).or("0s"),
		newSetting(checkpointGrace, "CHECKPOINT_GRACE_PERIOD", duration(&c.CheckpointGrace, 0),
			"how long a restart order waits for a worker that is writing a checkpoint, see HOLDFAST_CHECKPOINT_FILE").or("0s"),
		newSetting("pod-termination-grace-period", "POD_TERMINATION_GRACE_PERIOD", duration(&c.PodGrace, 0),
			"terminationGracePeriodSeconds of the pod; when the pod is deleted, the worker is killed shortly before this time").or("30s"),
		newSetting("max-stops-per-minute", "MAX_STOPS_PER_MINUTE", number(&c.MaxStops, 1),
			"maximum number of restart orders per minute; the supervisor rejects more, and requests a recreation of the group").or("60"),
		newSetting("exit-without-store-after", "EXIT_WITHOUT_STORE_AFTER", period(&c.AloneLimit),
			"how long a worker that is not running waits for an unreachable store before the supervisor exits, so that the owner of the pod handles it; 0s means no limit").
			or("0s"),
		startupFolder(&c.StartupDir).orNone(),
		logLevel(&c.LogLevel),
	}
}

func (c *Exec) progressSettings() []*setting {
	return []*setting{
		newSetting(progressTimeout, "PROGRESS_TIMEOUT", period(&c.Progress.Timeout),
			"a worker that reports no progress for this long is considered hung: it is killed, and the group restarts; 0s disables this").or("0s"),
		newSetting("progress-start-timeout", "PROGRESS_START_TIMEOUT", period(&c.Progress.Start),
			"maximum time from the start of a worker to its first progress report; 0s means no limit").or("0s"),
		newSetting("progress-from", "PROGRESS_FROM", matching(&c.ProgressFrom, regexp.MustCompile(`^(file|output)$`).MatchString, "file or output"),
			"how the worker reports progress: file (it touches HOLDFAST_PROGRESS_FILE) or output (it writes output)").or(FromFile),
	}
}

// slotSettings returns the settings that let a pod work in a slot other than its own. The last one names variables that
// change with each restart, in addition to those that every driver sets.
func (c *Exec) slotSettings() []*setting {
	podSlot := func(v string) error {
		c.Waits = v == "-"
		return nil
	}
	first := func(v string) error {
		c.AnySlot = true
		return number(&c.FirstGlobal, 0)(v)
	}
	return []*setting{
		newSetting("pod-slot", "HOLDFAST_POD_SLOT", podSlot,
			"slot assigned to the pod, from metadata.annotations['holdfast.dev/slot'], or a dash while it waits for one; empty if it works in its own slot").
			orNone(),
		newSetting("first-job-global-index", "HOLDFAST_FIRST_JOB_GLOBAL_INDEX", first,
			"job-global-index of the first Job of the replicatedJob; if set, the worker follows slots that move to other pods, and can run in any slot of the replicatedJob").
			orNone(),
		newSetting("first-job-group-index", "HOLDFAST_FIRST_JOB_GROUP_INDEX", number(&c.FirstGroup, 0),
			"job-group-index of the first Job of the replicatedJob").orNone(),
		newSetting("subdomain", "HOLDFAST_SUBDOMAIN", text(&c.Subdomain), "subdomain of the pods; host names of slots end in it").orNone(),
		newSetting("round-variables", "ROUND_VARIABLES", variables(&c.RoundVariables),
			"comma-separated environment variables of the worker, such as the name of a rendezvous; each start appends -<generation>-<restart count> to their values").
			orNone(),
	}
}

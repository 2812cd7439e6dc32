package config

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// setting is one flag. It is a text here; check.go gives it its type, so that all that is wrong is found at once.
type setting struct {
	flag    string
	env     string // the variable that is its default; named in messages
	initial string // without flag and variable
	usage   string
	fix     string // what to do if it is missing or bad
	value   string
}

// settings by flag name.
type settings map[string]*setting

// known is all there is to set. The first eight are those of seed 000, their environment that of its manifest.
func known(getenv func(string) string) settings {
	all := []*setting{
		{
			flag: jobSetUID, env: "JOBSET_UID", usage: "UID of the JobSet",
			fix: "set JOBSET_UID from metadata.annotations['jobset.sigs.k8s.io/jobset-uid']",
		},
		{
			flag: workerID, env: "JOBSET_NAME, REPLICATED_JOB_NAME, JOB_INDEX, JOB_COMPLETION_INDEX", usage: "slot of the worker: <JobSet>-<replicatedJob>-<job index>-<completion index>",
			fix: "set the four variables from the pod's annotations jobset.sigs.k8s.io/{jobset-name,replicatedjob-name,job-index} and batch.kubernetes.io/job-completion-index",
		},
		{flag: podUID, env: "POD_UID", usage: "UID of this pod", fix: "set POD_UID from metadata.uid"},
		{
			flag: containerName, env: "WORKER_CONTAINER_NAME", initial: "worker", usage: "name of the worker's container",
			fix: "give the name in spec.containers",
		},
		{
			flag: gracePeriod, env: "WORKER_TERMINATION_GRACE_PERIOD", initial: "10s", usage: "time between the signal to an ordered worker and its kill",
			fix: "give a duration such as 10s",
		},
		{
			flag: criSocket, env: "CRI_SOCKET_PATH", initial: "unix:///run/containerd/containerd.sock", usage: "socket of the container runtime",
			fix: "give unix:// and the absolute path at which the runtime's socket is mounted",
		},
		{
			flag: pollingInterval, env: "CRI_POLLING_INTERVAL", initial: "1s", usage: "time between two looks at the runtime while it sends no events",
			fix: "give a duration of 10ms or more, such as 1s",
		},
		{
			flag: valkeyAddress, env: "VALKEY_ADDRESS", usage: "host:port of the store",
			fix: "give the store's service, such as valkey.default.svc.cluster.local:6379",
		},
		{flag: valkeyUsername, env: "VALKEY_USERNAME", usage: "ACL user at the store", fix: "give the user's name"},
		{
			flag: valkeyPassword, env: "VALKEY_PASSWORD_FILE", usage: "file with the password at the store",
			fix: "mount the Secret and give the path of its key",
		},
		{flag: readyPort, env: "READY_PORT", initial: "80", usage: "port of /ready", fix: "give a port from 1 to 65535, the one of the startupProbe"},
		{
			flag: startupDir, env: "STARTUP_DIR", initial: "/app/startup", usage: "folder on a volume that lives as long as the pod",
			fix: "mount an emptyDir there",
		},
		{
			flag: removeStopped, env: "REMOVE_STOPPED_CONTAINERS", initial: "true",
			usage: "remove the records of containers that were stopped on an order, so that the kubelet's back-off does not hold them; `kubectl logs --previous` then shows nothing for them",
			fix:   "give true or false",
		},
		{flag: logLevel, env: "LOG_LEVEL", initial: "info", usage: "debug, info, warn or error", fix: "give one of debug, info, warn, error"},
	}
	s := settings{}
	for _, one := range all {
		s[one.flag] = one
		one.value = one.fromEnv(getenv)
	}
	return s
}

// fromEnv is the value without a flag.
func (s *setting) fromEnv(getenv func(string) string) string {
	names := strings.Split(s.env, ", ")
	values := make([]string, len(names))
	some := false
	for i, name := range names {
		values[i] = getenv(name)
		some = some || values[i] != ""
	}
	if !some {
		return s.initial
	}
	return strings.Join(values, "-")
}

// parse reads the arguments. A bad one is noted and the rest is read all the same.
func (s settings) parse(args []string, p *problems) error {
	flags := flag.NewFlagSet("agent", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	for _, one := range s {
		flags.StringVar(&one.value, one.flag, one.value, fmt.Sprintf("%s (environment: %s)", one.usage, one.env))
	}
	for len(args) > 0 {
		err := flags.Parse(args)
		switch {
		case errors.Is(err, flag.ErrHelp):
			return Help(usage(flags))
		case err != nil:
			p.add("%v", err)
			args = flags.Args()
		case flags.NArg() > 0:
			p.add("unexpected argument %q: every setting is a flag --name=value", flags.Arg(0))
			args = flags.Args()[1:]
		default:
			args = nil
		}
	}
	return nil
}

func usage(f *flag.FlagSet) string {
	var out strings.Builder
	out.WriteString("The Holdfast agent: a sidecar that restarts its worker together with the group.\n\n")
	f.SetOutput(&out)
	f.PrintDefaults()
	return out.String()
}

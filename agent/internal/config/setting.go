package config

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// setting is a flag. Its value remains a string until check.go parses it, so that all problems are reported at once.
type setting struct {
	flag    string
	env     string // environment variable that overrides the default; named in messages
	initial string // default if neither the flag nor the variable is set
	usage   string
	fix     string // what to do if it is missing or invalid
	value   string
}

// settings maps flag names to settings.
type settings map[string]*setting

// fromEnv returns the value of the environment variable, or the default.
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

// parse reads the arguments. It records invalid arguments and continues.
func (s settings) parse(args []string, title string, p *problems) error {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	for _, one := range s {
		flags.StringVar(&one.value, one.flag, one.value, fmt.Sprintf("%s (environment: %s)", one.usage, one.env))
	}
	for len(args) > 0 {
		err := flags.Parse(args)
		switch {
		case errors.Is(err, flag.ErrHelp):
			return Help(usage(title, flags))
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

func usage(title string, f *flag.FlagSet) string {
	var out strings.Builder
	out.WriteString(title + "\n\n")
	f.SetOutput(&out)
	f.PrintDefaults()
	return out.String()
}

// program lists the settings of one program.
type program struct {
	title   string
	flags   []string
	initial map[string]string // overrides the default of the setting
}

var agent = program{
	title: "The Holdfast agent: a sidecar that restarts its worker together with the group.",
	flags: []string{
		jobSetUID, workerID, podUID, podEpoch, containerName, gracePeriod, criSocket, pollingInterval,
		valkeyAddress, valkeyUsername, valkeyPassword, valkeyCA, valkeyCert, valkeyKey, valkeyServer, relayFrom,
		readyPort, startupDir, removeStopped, logLevel, podName, nodeName,
	},
}

var supervisor = program{
	title: `holdfast-exec [flags] -- command [arguments]: runs the command as a worker of its group, and restarts it together with the others.
holdfast-exec install DIR: copies itself there.`,
	flags: []string{
		jobSetUID, workerID, podUID, podEpoch, gracePeriod, checkpointGrace, podGrace, maxStops, aloneLimit,
		valkeyAddress, valkeyUsername, valkeyPassword, valkeyCA, valkeyCert, valkeyKey, valkeyServer, relayFrom,
		startupDir, logLevel, podName, nodeName, progressTimeout, progressStart, progressFrom, roundVariables,
		podSlot, firstGlobal, firstGroup,
	},
	// A worker that restarts cannot save anything that the rest of its group agrees on, unless it reports that it is
	// writing a checkpoint. The startup volume is optional.
	initial: map[string]string{gracePeriod: "0s", startupDir: ""},
}

// settings returns the program's settings with their values from the environment.
func (p program) settings(getenv func(string) string) settings {
	all := map[string]*setting{}
	for _, one := range known() {
		all[one.flag] = one
	}
	s := settings{}
	for _, name := range p.flags {
		one := all[name]
		if initial, other := p.initial[name]; other {
			one.initial = initial
		}
		one.value = one.fromEnv(getenv)
		s[name] = one
	}
	return s
}

package config

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
	// A worker that restarts cannot save anything that its group still agrees on, unless it says that it is writing a
	// checkpoint. The startup volume is optional.
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

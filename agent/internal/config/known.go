package config

import "slices"

// known returns all settings. Eight of them, including their environment variables, come from the manifest of JobSet
// KEP-876.
func known() []*setting {
	return slices.Concat(identitySettings(), storeSettings(), runtimeSettings(), workerSettings(), roundSettings(), progressSettings(), spareSettings())
}

// identitySettings identify the worker.
func identitySettings() []*setting {
	return []*setting{
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
			flag: podEpoch, env: "HOLDFAST_POD_EPOCH", usage: "generation of the group that this pod was created for; the agent does not join an earlier one",
			fix: "set HOLDFAST_POD_EPOCH from metadata.annotations['holdfast.dev/epoch'], or omit it",
		},
		{
			flag: podName, env: "HOLDFAST_POD_NAME", usage: "name of this pod, for the restart history",
			fix: "set HOLDFAST_POD_NAME from metadata.name",
		},
		{
			flag: nodeName, env: "HOLDFAST_NODE_NAME", usage: "name of this pod's node, for the restart history",
			fix: "set HOLDFAST_NODE_NAME from spec.nodeName",
		},
	}
}

// storeSettings say how to reach the store.
func storeSettings() []*setting {
	return []*setting{
		{
			flag: valkeyAddress, env: "VALKEY_ADDRESS", usage: "host:port of the store",
			fix: "give the store's service, such as valkey.default.svc.cluster.local:6379",
		},
		{flag: valkeyUsername, env: "VALKEY_USERNAME", usage: "ACL user of the store", fix: "give the user's name"},
		{
			flag: valkeyPassword, env: "VALKEY_PASSWORD_FILE", usage: "file with the password of the store user",
			fix: "mount the Secret and give the path of its key",
		},
		{
			flag: valkeyCA, env: "VALKEY_TLS_CA_FILE", usage: "file with the CA certificates of the store; enables TLS",
			fix: "mount the Secret or ConfigMap and give the path of its key",
		},
		{
			flag: valkeyCert, env: "VALKEY_TLS_CERT_FILE", usage: "file with the client certificate",
			fix: "mount the Secret and give the path of tls.crt",
		},
		{
			flag: valkeyKey, env: "VALKEY_TLS_KEY_FILE", usage: "file with the key of the client certificate",
			fix: "mount the Secret and give the path of tls.key",
		},
		{
			flag: valkeyServer, env: "VALKEY_TLS_SERVER_NAME", usage: "server name in the store's certificate; defaults to the host of the address",
			fix: "give a name that is in the certificate",
		},
		{
			flag: relayFrom, env: "RELAY_FROM", initial: "0",
			usage: "minimum number of workers of a replicatedJob for every hundredth agent to relay the store's messages to the others; must be the same for all agents; 0 disables relays",
			fix:   "give a number such as 2000, or 0",
		},
	}
}

// runtimeSettings configure the container runtime and the agent itself.
func runtimeSettings() []*setting {
	return []*setting{
		{
			flag: containerName, env: "WORKER_CONTAINER_NAME", initial: "worker", usage: "name of the worker's container",
			fix: "give the name in spec.containers",
		},
		{
			flag: criSocket, env: "CRI_SOCKET_PATH", initial: "unix:///run/containerd/containerd.sock", usage: "socket of the container runtime",
			fix: "give unix:// and the absolute path at which the runtime's socket is mounted",
		},
		{
			flag: pollingInterval, env: "CRI_POLLING_INTERVAL", initial: "1s", usage: "interval between polls of the runtime while it sends no events",
			fix: "give a duration of 10ms or more, such as 1s",
		},
		{flag: readyPort, env: "READY_PORT", initial: "80", usage: "port of /ready", fix: "give a port from 1 to 65535, the one of the startupProbe"},
		{
			flag: startupDir, env: "STARTUP_DIR", initial: "/app/startup", usage: "folder on a volume with the lifetime of the pod",
			fix: "mount an emptyDir there",
		},
		{
			flag: removeStopped, env: "REMOVE_STOPPED_CONTAINERS", initial: "true",
			usage: "remove containers that were stopped by a restart order, so that the kubelet starts new ones without back-off; kubectl logs --previous does not show removed containers",
			fix:   "give true or false",
		},
		{flag: logLevel, env: "LOG_LEVEL", initial: "info", usage: "log level: debug, info, warn or error", fix: "give one of debug, info, warn, error"},
	}
}

// workerSettings configure how the worker is stopped.
func workerSettings() []*setting {
	return []*setting{
		{
			flag: gracePeriod, env: "WORKER_TERMINATION_GRACE_PERIOD", initial: "10s", usage: "time between the stop signal and SIGKILL when a restart order stops the worker",
			fix: "give a duration such as 10s",
		},
		{
			flag: checkpointGrace, env: "CHECKPOINT_GRACE_PERIOD", initial: "0s",
			usage: "how long a restart order waits for a worker that is writing a checkpoint, see HOLDFAST_CHECKPOINT_FILE",
			fix:   "give a duration such as 30s",
		},
		{
			flag: podGrace, env: "POD_TERMINATION_GRACE_PERIOD", initial: "30s",
			usage: "terminationGracePeriodSeconds of the pod; when the pod is deleted, the worker is killed shortly before this time",
			fix:   "give the pod's value as a duration, such as 30s",
		},
		{
			flag: maxStops, env: "MAX_STOPS_PER_MINUTE", initial: "60",
			usage: "maximum number of restart orders per minute; the supervisor rejects more, and requests a recreation of the group",
			fix:   "give a number of 1 or more",
		},
		{
			flag: aloneLimit, env: "EXIT_WITHOUT_STORE_AFTER", initial: "0s",
			usage: "how long a worker that is not running waits for an unreachable store before the supervisor exits, so that the owner of the pod handles it; 0s means no limit",
			fix:   "give a duration of 1s or more, such as 1m, or 0s",
		},
	}
}

// roundSettings names variables that change with each restart, in addition to those that every driver sets.
func roundSettings() []*setting {
	return []*setting{
		{
			flag: roundVariables, env: "ROUND_VARIABLES",
			usage: "comma-separated environment variables of the worker, such as the name of a rendezvous; each start appends -<generation>-<restart count> to their values",
			fix:   "give names of variables, such as PET_RDZV_ID",
		},
	}
}

// spareSettings lets a pod work in a slot other than its own.
func spareSettings() []*setting {
	return []*setting{
		{
			flag: podSlot, env: "HOLDFAST_POD_SLOT",
			usage: "slot assigned to the pod, or a dash while it waits for one to be assigned; empty if it works in its own slot",
			fix:   "set HOLDFAST_POD_SLOT from metadata.annotations['holdfast.dev/slot']",
		},
		{
			flag: firstGlobal, env: "HOLDFAST_FIRST_JOB_GLOBAL_INDEX",
			usage: "job-global-index of the first Job of the replicatedJob; if set, the worker can run in any slot of the replicatedJob",
			fix:   "give the number of Jobs of the replicatedJobs before this one",
		},
		{
			flag: firstGroup, env: "HOLDFAST_FIRST_JOB_GROUP_INDEX", usage: "job-group-index of the first Job of the replicatedJob",
			fix: "give the number of Jobs of the replicatedJobs of the same group before this one",
		},
	}
}

// progressSettings configure how the worker reports progress.
func progressSettings() []*setting {
	return []*setting{
		{
			flag: progressTimeout, env: "PROGRESS_TIMEOUT", initial: "0s",
			usage: "a worker that reports no progress for this long is considered hung: it is killed, and the group restarts; 0s disables this",
			fix:   "give a duration of 1s or more, such as 2m, or 0s",
		},
		{
			flag: progressStart, env: "PROGRESS_START_TIMEOUT", initial: "0s",
			usage: "maximum time from the start of a worker to its first progress report; 0s means no limit",
			fix:   "give a duration of 1s or more, such as 10m, or 0s",
		},
		{
			flag: progressFrom, env: "PROGRESS_FROM", initial: FromFile,
			usage: "how the worker reports progress: file (it touches HOLDFAST_PROGRESS_FILE), socket (it sends datagrams to HOLDFAST_PROGRESS_SOCKET) or output (it writes output)",
			fix:   "give file, socket or output",
		},
	}
}

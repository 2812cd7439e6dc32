package config

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// manifest returns the environment of an agent's container, including the values filled in by the kubelet.
func manifest(dir string) map[string]string {
	return map[string]string{
		"JOBSET_UID": "js-uid", "JOBSET_NAME": "js", "REPLICATED_JOB_NAME": "workers", "JOB_INDEX": "4", "JOB_COMPLETION_INDEX": "17",
		"POD_UID": "pod-uid", "VALKEY_ADDRESS": "valkey:6379", "STARTUP_DIR": dir,
	}
}

func parse(env map[string]string, args ...string) (Config, error) {
	return Parse(args, func(name string) string { return env[name] })
}

func TestTheEnvironmentSuffices(t *testing.T) {
	dir := t.TempDir()
	got, err := parse(manifest(dir))
	want := Config{
		Identity: Identity{JobSetUID: "js-uid", WorkerID: "js-workers-4-17", PodUID: "pod-uid"}, Store: Store{Address: "valkey:6379"}, ContainerName: "worker", GracePeriod: 10 * time.Second,
		CRISocket: "/run/containerd/containerd.sock", PollingInterval: time.Second, ReadyPort: 80,
		StartupDir: dir, RemoveStopped: true, LogLevel: slog.LevelInfo,
	}
	if err != nil || got != want {
		t.Errorf("got %+v (%v)\nwant %+v", got, err, want)
	}
}

func TestTheArgumentsOfTheManifestSuffice(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "password")
	if err := os.WriteFile(secret, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := parse(nil,
		"--worker-jobset-uid=u", "--worker-id=in-place-restart-example-workers-0-999", "--worker-pod-uid=p", "--worker-pod-epoch=3", "--worker-container-name=trainer",
		"--worker-termination-grace-period=0s", "--cri-socket-path=unix:///run/crio/crio.sock", "--cri-polling-interval=100ms",
		"--valkey-address=valkey.default.svc.cluster.local:6379", "--valkey-username=me", "--valkey-password-file="+secret,
		"--ready-port=8080", "--startup-dir="+dir, "--log-level=debug")
	want := Config{
		Identity: Identity{JobSetUID: "u", WorkerID: "in-place-restart-example-workers-0-999", PodUID: "p", PodEpoch: 3}, ContainerName: "trainer",
		Store:     Store{Address: "valkey.default.svc.cluster.local:6379", Username: "me", PasswordFile: secret},
		CRISocket: "/run/crio/crio.sock", PollingInterval: 100 * time.Millisecond, ReadyPort: 8080, StartupDir: dir, RemoveStopped: true, LogLevel: slog.LevelDebug,
	}
	if err != nil || got != want {
		t.Errorf("got %+v (%v)\nwant %+v", got, err, want)
	}
}

func TestInvalidSettings(t *testing.T) {
	cases := map[string]struct {
		args []string
		env  map[string]string // in addition to the manifest's
		want []string          // substrings of the message
	}{
		"no JobSet UID": {env: map[string]string{"JOBSET_UID": ""}, want: []string{"--worker-jobset-uid", "JOBSET_UID", "is missing", "jobset-uid"}},
		"no pod UID":    {env: map[string]string{"POD_UID": ""}, want: []string{"--worker-pod-uid", "POD_UID", "is missing", "metadata.uid"}},
		"an unexpanded pod UID": {
			args: []string{"--worker-pod-uid=$(POD_UID)"}, want: []string{"--worker-pod-uid", "$(POD_UID) was not expanded", "metadata.uid"},
		},
		"an unexpanded part of the worker ID": {
			args: []string{"--worker-id=js-$(REPLICATED_JOB_NAME)-0-1"}, want: []string{"--worker-id", "$(REPLICATED_JOB_NAME) was not expanded"},
		},
		"a worker ID without indexes":         {env: map[string]string{"JOB_COMPLETION_INDEX": ""}, want: []string{"--worker-id", `"js-workers-4-"`, "job-completion-index"}},
		"a worker ID without a JobSet":        {env: map[string]string{"JOBSET_NAME": ""}, want: []string{"--worker-id", `"-workers-4-17"`}},
		"a worker ID without a replicatedJob": {env: map[string]string{"REPLICATED_JOB_NAME": ""}, want: []string{"--worker-id", `"js--4-17"`}},
		"an empty container name":             {args: []string{"--worker-container-name="}, want: []string{"--worker-container-name", "spec.containers"}},
		"a grace period without a unit":       {args: []string{"--worker-termination-grace-period=10"}, want: []string{"--worker-termination-grace-period", `"10" is not a duration`}},
		"a negative grace period":             {args: []string{"--worker-termination-grace-period=-1s"}, want: []string{"--worker-termination-grace-period", "below the minimum"}},
		"a socket that is not a path":         {args: []string{"--cri-socket-path=tcp://1.2.3.4"}, want: []string{"--cri-socket-path", "CRI_SOCKET_PATH", "unix://"}},
		"a polling interval of zero":          {args: []string{"--cri-polling-interval=0s"}, want: []string{"--cri-polling-interval", "10ms"}},
		"an epoch that is not a number":       {args: []string{"--worker-pod-epoch=next"}, want: []string{"--worker-pod-epoch", `"next"`, "holdfast.dev/epoch"}},
		"an epoch before the first":           {env: map[string]string{"HOLDFAST_POD_EPOCH": "0"}, want: []string{"--worker-pod-epoch", "at least 1"}},
		"no store":                            {env: map[string]string{"VALKEY_ADDRESS": ""}, want: []string{"--valkey-address", "VALKEY_ADDRESS", "is missing"}},
		"a store without a port":              {args: []string{"--valkey-address=valkey"}, want: []string{"--valkey-address", "not host:port"}},
		"a store with a port out of range":    {args: []string{"--valkey-address=valkey:70000"}, want: []string{"--valkey-address", "not host:port"}},
		"a missing password file":             {args: []string{"--valkey-password-file=/nonexistent/p"}, want: []string{"--valkey-password-file", "no such file", "Secret"}},
		"a missing CA file":                   {args: []string{"--valkey-tls-ca-file=/nonexistent/ca"}, want: []string{"--valkey-tls-ca-file", "no such file"}},
		"a certificate without its key":       {args: []string{"--valkey-tls-cert-file=/dev/null", "--valkey-tls-ca-file=/dev/null"}, want: []string{"--valkey-tls-*", "certificate and its key go together"}},
		"a certificate without a CA":          {args: []string{"--valkey-tls-cert-file=/dev/null", "--valkey-tls-key-file=/dev/null"}, want: []string{"--valkey-tls-*", "requires a CA"}},
		"a port of zero":                      {args: []string{"--ready-port=0"}, want: []string{"--ready-port", "startupProbe"}},
		"a port that is not a number":         {args: []string{"--ready-port=http"}, want: []string{"--ready-port", `"http"`}},
		"a missing startup folder":            {args: []string{"--startup-dir=/nonexistent"}, want: []string{"--startup-dir", "no such file", "emptyDir"}},
		"an invalid log level":                {args: []string{"--log-level=loud"}, want: []string{"--log-level", `"loud"`, "debug"}},
		"an unknown flag":                     {args: []string{"--worker-pod-uuid=x"}, want: []string{"worker-pod-uuid"}},
		"an argument that is not a flag":      {args: []string{"serve", "--log-level=info"}, want: []string{`"serve"`}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			env := manifest(t.TempDir())
			for k, v := range tc.env {
				env[k] = v
			}
			_, err := parse(env, tc.args...)
			var p Problems
			if !errors.As(err, &p) || len(p) != 1 {
				t.Fatalf("error %v, want one problem", err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
		})
	}
}

func TestAllProblemsAreReportedTogether(t *testing.T) {
	_, err := parse(nil, "--nonsense=1", "stray", "--startup-dir=/nonexistent", "--worker-pod-uid=$(POD_UID)")
	var p Problems
	if !errors.As(err, &p) || len(p) != 7 {
		t.Fatalf("%d problems, want 7: %v", len(p), err)
	}
}

func TestHelp(t *testing.T) {
	_, err := parse(nil, "-h")
	var h Help
	if !errors.As(err, &h) || !strings.Contains(string(h), "-worker-jobset-uid") || !strings.Contains(string(h), "JOBSET_UID") {
		t.Errorf("help is %v", err)
	}
}

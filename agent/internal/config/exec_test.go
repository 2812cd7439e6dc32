package config

import (
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func parseExec(env map[string]string, args ...string) (Exec, error) {
	return ParseExec(args, func(name string) string { return env[name] })
}

func TestTheEnvironmentSufficesForTheSupervisor(t *testing.T) {
	dir := t.TempDir()
	got, err := parseExec(manifest(dir), "--", "python", "-u", "--", "train.py", "--worker-id=x")
	want := Exec{
		Identity: Identity{JobSetUID: "js-uid", WorkerID: "js-workers-4-17", PodUID: "pod-uid"}, Store: Store{Address: "valkey:6379"}, ProgressFrom: FromFile,
		PodGrace: 30 * time.Second, MaxStops: 60, StartupDir: dir, LogLevel: slog.LevelInfo,
		Command: []string{"python", "-u", "--", "train.py", "--worker-id=x"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v (%v)\nwant %+v", got, err, want)
	}
}

func TestTheSupervisorNeedsNoVolume(t *testing.T) {
	env := manifest("")
	env["WORKER_TERMINATION_GRACE_PERIOD"] = "5s"
	got, err := parseExec(env, "--max-stops-per-minute=3", "--pod-termination-grace-period=10s", "--round-variables=A,B_1", "--", "x")
	if err != nil || !slices.Equal(got.RoundVariables, []string{"A", "B_1"}) || got.StartupDir != "" || got.GracePeriod != 5*time.Second ||
		got.MaxStops != 3 || got.PodGrace != 10*time.Second {
		t.Errorf("got %+v (%v)", got, err)
	}
}

func TestInvalidSettingsOfTheSupervisor(t *testing.T) {
	cases := map[string]struct{ args, want []string }{
		"no command":                               {nil, []string{"nothing to run"}},
		"nothing after the dashes":                 {[]string{"--"}, []string{"nothing to run"}},
		"a command without the dashes":             {[]string{"python", "--", "x"}, []string{`"python"`}},
		"the sidecar's flag":                       {[]string{"--cri-socket-path=/x", "--", "x"}, []string{"cri-socket-path"}},
		"no stops at all":                          {[]string{"--max-stops-per-minute=0", "--", "x"}, []string{"--max-stops-per-minute", "MAX_STOPS_PER_MINUTE", `"0"`}},
		"a missing startup folder":                 {[]string{"--startup-dir=/nonexistent", "--", "x"}, []string{"--startup-dir", "no such file"}},
		"a checkpoint grace period without a unit": {[]string{"--checkpoint-grace-period=5", "--", "x"}, []string{"--checkpoint-grace-period"}},
		"progress without a startup folder":        {[]string{"--progress-timeout=5s", "--", "x"}, []string{"--startup-dir", "--progress-timeout"}},
		"an unknown source of progress":            {[]string{"--progress-from=stars", "--", "x"}, []string{"--progress-from", "file or output"}},
		"checkpoints without a startup folder":     {[]string{"--checkpoint-grace-period=5s", "--", "x"}, []string{"--startup-dir", "--checkpoint-grace-period", "emptyDir"}},
		"an invalid variable name":                 {[]string{"--round-variables=PET_RDZV_ID,A=B", "--", "x"}, []string{"--round-variables", "A=B", "PET_RDZV_ID"}},
		"a pod grace period without a unit":        {[]string{"--pod-termination-grace-period=5", "--", "x"}, []string{"--pod-termination-grace-period"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := parseExec(manifest(""), tc.args...)
			var p Problems
			if !errors.As(err, &p) || len(p) != 1 {
				t.Fatalf("error %v, want one problem", err)
			}
			if missing := slices.IndexFunc(tc.want, func(w string) bool { return !strings.Contains(err.Error(), w) }); missing >= 0 {
				t.Errorf("%q is not in: %v", tc.want[missing], err)
			}
		})
	}
}

func TestTheHelpOfTheSupervisor(t *testing.T) {
	_, err := parseExec(nil, "-h")
	var h Help
	if !errors.As(err, &h) || !strings.Contains(string(h), "-checkpoint-grace-period") || strings.Contains(string(h), "cri-") {
		t.Errorf("help is %v", err)
	}
}

package bootstrap

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

const kubeconfig = `
apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: a, user: {}}]
`

func TestExitCodes(t *testing.T) {
	for name, tc := range map[string]struct {
		args   []string
		ran    error
		code   int
		stdout string
		stderr string
	}{
		"a clean exit":      {},
		"a failure":         {ran: errors.New("lost it"), code: 1, stderr: "test: lost it\n"},
		"help":              {args: []string{"--help"}, stdout: "Usage of test:"},
		"wrong flags":       {args: []string{"--kube-api-qps=0", "--kube-api-burst=0"}, code: 2, stderr: "test: --kube-api-qps (clientConnection.qps): 0 is not above 0; --kube-api-burst"},
		"an unknown flag":   {args: []string{"--nope"}, code: 2, stderr: "test: unknown flag: --nope\n"},
		"a missing cluster": {args: []string{"--kubeconfig=/nowhere/a"}, code: 1, stderr: "test: finding the cluster: "},
		"an invalid file":   {args: []string{"--config=/dev/null"}, code: 2, stderr: "test: --config /dev/null: "},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProgram()
			p.ran = func(context.Context, *rest.Config) error { return tc.ran }
			var stdout, stderr bytes.Buffer
			args := append([]string{"--kubeconfig=" + write(t, kubeconfig)}, tc.args...)
			if code := run(t.Context(), "test", p, args, &stdout, &stderr); code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			if !strings.HasPrefix(stdout.String(), tc.stdout) || !strings.HasPrefix(stderr.String(), tc.stderr) || strings.Count(stderr.String(), "\n") > 1 {
				t.Errorf("stdout %q, stderr %q", stdout.String(), stderr.String())
			}
		})
	}
}

// TestSignals runs this test binary as the program.
func TestSignals(t *testing.T) {
	if stubborn := os.Getenv("TEST_SIGNALS"); stubborn != "" {
		os.Exit(signalled(stubborn == "stubborn"))
	}
	for name, tc := range map[string]struct {
		mode    string
		signals int
		want    func(*os.ProcessState) bool
	}{
		"one signal causes a clean exit":      {"obedient", 1, func(s *os.ProcessState) bool { return s.ExitCode() == 0 }},
		"the second causes an immediate exit": {"stubborn", 2, func(s *os.ProcessState) bool { return s.ExitCode() == 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestSignals$")
			cmd.Env = append(os.Environ(), "TEST_SIGNALS="+tc.mode, "KUBECONFIG="+write(t, kubeconfig))
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line := make([]byte, 8)
			for range tc.signals {
				if _, err := out.Read(line); err != nil {
					t.Fatal(err)
				}
				if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
			}
			_ = cmd.Wait()
			if !tc.want(cmd.ProcessState) {
				t.Errorf("the process ended with %s", cmd.ProcessState)
			}
		})
	}
}

// signalled prints a line when it is running and another when it is asked to stop.
func signalled(stubborn bool) int {
	p := newProgram()
	p.ran = func(ctx context.Context, _ *rest.Config) error {
		os.Stdout.WriteString("running\n")
		<-ctx.Done()
		if stubborn {
			os.Stdout.WriteString("stopping\n")
			time.Sleep(time.Minute)
		}
		return nil
	}
	return Main("test", p, nil)
}

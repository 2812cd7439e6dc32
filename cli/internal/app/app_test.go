package app

import (
	"bytes"
	"io"
	"testing"

	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/holdfast-project/holdfast/cli/internal/read"
)

// With --watch, a program that expects JSON would wait forever for a complete document.
func TestWatchRejectsOtherFormats(t *testing.T) {
	for _, format := range formats[1:] {
		cmd := Command(Terminal{Out: io.Discard, Err: io.Discard})
		cmd.SetArgs([]string{"status", "train", "-w", "-o", format, "--server", "https://127.0.0.1:1"})
		if err := cmd.ExecuteContext(t.Context()); err == nil || err.Error() != "--watch cannot be combined with --output "+format {
			t.Errorf("error %v with --output %s", err, format)
		}
	}
}

// Reading a workload with 5,000 pods takes about fifteen requests, and a watch may read it five times per second.
func TestRequestLimits(t *testing.T) {
	flags := genericclioptions.NewConfigFlags(false)
	*flags.APIServer = "https://127.0.0.1:1"
	config, err := (&command{flags: flags}).config()
	if err != nil {
		t.Fatal(err)
	}
	if config.QPS < 50 || config.Burst < 75 {
		t.Errorf("%g requests a second, %d at once", config.QPS, config.Burst)
	}
}

func TestMissingPermissionsWarning(t *testing.T) {
	var out bytes.Buffer
	c := &command{Terminal: Terminal{Err: &out}}
	c.warnForbidden(nil)
	c.warnForbidden(read.Forbidden{"get appwrappers", "list pods", "list events"})
	if got, want := out.String(), "warning: no permission to get appwrappers, list pods, list events: the output is incomplete\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

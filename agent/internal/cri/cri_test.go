package cri

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/testing/fakecri"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

func serve(t *testing.T, r *fakecri.Runtime, polling time.Duration) *Client {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "cri.sock")
	if err := r.Serve(socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return dial(t, socket, polling)
}

func dial(t *testing.T, socket string, polling time.Duration) *Client {
	t.Helper()
	c, err := New(Options{Socket: socket, PodUID: "pod", ContainerName: "worker", PollingInterval: polling})
	if err != nil {
		t.Fatal(err)
	}
	c.backoff = 20 * time.Millisecond
	t.Cleanup(func() { c.Close() })
	return c
}

func observe(t *testing.T, c *Client) worker.Observed {
	t.Helper()
	o, err := c.Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(o.Processes, func(a, b worker.Process) int { return int(a.Born - b.Born) })
	return o
}

func TestObserveDistinguishesInstances(t *testing.T) {
	r := fakecri.New("pod", "worker")
	c := serve(t, r, time.Second)
	if o := observe(t, c); len(o.Processes) != 0 {
		t.Errorf("an empty pod is %+v", o)
	}
	r.Start("a")
	before := time.Now().UnixMilli()
	r.Exit("a", 3)
	r.Start("b")
	r.Create("c")
	o := observe(t, c)
	if len(o.Processes) != 2 {
		t.Fatalf("%+v, want the dead and the running one, without the one that was only created", o.Processes)
	}
	a, b := o.Processes[0], o.Processes[1]
	if a.ID != "a" || a.Running || a.ExitCode != 3 || a.FinishedAt < before || a.FinishedAt > before+1000 {
		t.Errorf("dead: %+v", a)
	}
	if b.ID != "b" || !b.Running || b.Born < before*1000-1000 || b.Born > before*1000+1_000_000 {
		t.Errorf("running: %+v, want its birth in microseconds", b)
	}
}

func TestStopAndRemove(t *testing.T) {
	r := fakecri.New("pod", "worker")
	c := serve(t, r, time.Second)
	r.Start("a")
	r.Exit("a", 1)
	r.Start("b")
	for _, id := range []string{"b", "gone"} {
		if err := c.Stop(t.Context(), worker.Stop{ID: id, Grace: time.Second}); err != nil {
			t.Errorf("stopping %s: %v", id, err)
		}
	}
	if o := observe(t, c); o.Processes[1].ExitCode != 143 {
		t.Errorf("after the stop: %+v", o.Processes[1])
	}
	if err := c.Remove(t.Context(), []string{"a", "gone", "b"}); err != nil {
		t.Error(err)
	}
	if o := observe(t, c); len(o.Processes) != 0 || len(c.exited) != 0 {
		t.Errorf("left: %+v, remembered: %v", o.Processes, c.exited)
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "file")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	other := fakecri.New("another pod", "worker")
	cases := map[string]struct {
		client *Client
		want   []string
	}{
		"no socket":                 {dial(t, filepath.Join(dir, "none"), time.Second), []string{"no such file", "cri-socket", "--cri-socket-path"}},
		"a file":                    {dial(t, plain, time.Second), []string{plain, "refused"}},
		"a runtime without the pod": {serve(t, other, time.Second), []string{"does not know pod", "--worker-pod-uid"}},
		"a runtime that is gone":    {gone(t), []string{"connection error", "cri.sock", "hostPath"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := tc.client.Observe(t.Context())
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
		})
	}
}

// gone returns a client for a socket without a listener, as a pod has after a restart of the runtime.
func gone(t *testing.T) *Client {
	socket := filepath.Join(t.TempDir(), "cri.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	return dial(t, socket, time.Second)
}

func TestCallsToAHungRuntimeTimeOut(t *testing.T) {
	r := fakecri.New("pod", "worker")
	r.Hangs = true
	c := serve(t, r, time.Second)
	start := time.Now()
	if _, err := c.Observe(t.Context()); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if took := time.Since(start); took > callTimeout+time.Second {
		t.Errorf("took %v", took)
	}
}

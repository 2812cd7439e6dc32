package testbed

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/holdfast-project/holdfast/e2e/testbed/cgroup"
	"github.com/holdfast-project/holdfast/e2e/testbed/process"
)

// Names of the components that run only once. Those of a node are in node.go.
const (
	etcd              = "etcd"
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	kubeProxy         = "kube-proxy"
	coreDNS           = "coredns"
	redis             = "redis"
)

const (
	// rootGroup contains everything that the testbed starts, including pods.
	rootGroup cgroup.Group = "holdfast-testbed"
	// systemGroup contains the processes that do not belong to a node.
	systemGroup = rootGroup + "/system"
)

const (
	// startTimeout allows for a cold disk cache on a busy machine.
	startTimeout = 5 * time.Minute
	// recoverTimeout is how long a running but unhealthy component may take to recover before it is restarted. It
	// exceeds the time for which a machine may stall.
	recoverTimeout = 30 * time.Second
	// stopTimeout is how long a component may take to exit before it is restarted.
	stopTimeout  = 5 * time.Second
	pollInterval = 50 * time.Millisecond
)

// component is a program with a health check.
type component struct {
	spec  process.Spec
	ready func(context.Context) error
}

// startAll starts the components that are not running or not healthy, and waits until all are healthy.
func (u *up) startAll(ctx context.Context, components ...component) error {
	for _, c := range components {
		if err := u.start(ctx, c); err != nil {
			return err
		}
	}
	for _, c := range components {
		if err := u.await(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// start does not change a healthy program, regardless of who started it.
func (u *up) start(ctx context.Context, c component) error {
	record := u.table.Get(c.spec.Name)
	if record.ID.Alive() {
		same := record.Fingerprint == c.spec.Fingerprint()
		if same && poll(ctx, recoverTimeout, c.ready) == nil {
			return nil
		}
		if err := record.ID.Stop(ctx, stopTimeout); err != nil {
			return err
		}
	}
	u.say("starting %s", c.spec.Name)
	if err := os.MkdirAll(c.spec.Dir, 0o755); err != nil {
		return fmt.Errorf("creating the folder of %s: %w", c.spec.Name, err)
	}
	u.started[c.spec.Name] = time.Now()
	_, err := u.table.Start(c.spec)
	return err
}

// await waits until a component is healthy, and gives up early if it exits.
func (u *up) await(ctx context.Context, c component) error {
	id := u.table.Get(c.spec.Name).ID
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	err := poll(ctx, startTimeout, func(ctx context.Context) error {
		if !id.Alive() {
			cancel(process.ErrGone)
			return process.ErrGone
		}
		return c.ready(ctx)
	})
	if err != nil {
		return fmt.Errorf("%s did not become healthy: %w; the end of %s:\n%s", c.spec.Name, err, c.spec.Log, lastLines(c.spec.Log))
	}
	return nil
}

// poll calls ready until it returns nil, and returns its last error after the timeout.
func poll(ctx context.Context, timeout time.Duration, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pollInterval):
		}
	}
}

func lastLines(file string) []byte {
	const lines = 10
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	all := bytes.Split(bytes.TrimSpace(raw), []byte("\n"))
	return bytes.Join(all[max(0, len(all)-lines):], []byte("\n"))
}

package testbed

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/holdfast-project/holdfast/e2e/testbed/process"
)

const (
	redisPort = 6379
	// valkeyFolder contains the programs that hack/install-valkey.sh installs from Debian 13.
	valkeyFolder = "/opt/holdfast/debian-13/usr/bin"
	// redisAddress is the store's address for pods and for the host.
	redisAddress = hostAddress + ":6379"
	// redisGrace is long enough to finish writing the log.
	redisGrace = 10 * time.Second
)

// redis returns the store. Pods reach it as valkey.default.svc.cluster.local:6379.
func (u *up) redis() component {
	dir := u.layout.state(redis)
	return component{
		spec: u.spec(process.Spec{Name: redis, Dir: dir, Command: []string{
			valkeyFolder + "/valkey-server",
			"--bind", hostAddress,
			"--port", fmt.Sprint(redisPort),
			"--protected-mode", "no",
			// The server lowers this to what the limit on open files allows.
			"--maxclients", "65000",
			"--dir", dir,
			"--save", "",
			"--appendonly", "yes",
			"--appendfsync", "everysec",
			"--aof-timestamp-enabled", "yes", // needed by CutLog
			"--daemonize", "no",
		}}),
		ready: answersPing,
	}
}

// Redis is the store of the cluster, which tests can stop and start.
type Redis struct {
	cluster *Cluster
}

// Redis returns the cluster's store.
func (c *Cluster) Redis() Redis { return Redis{cluster: c} }

// Address returns the store's address for the host and for pods.
func (r Redis) Address() string { return redisAddress }

// PID returns the server's PID, or 0 if it is not running.
func (r Redis) PID() int {
	if id := r.cluster.table().Get(redis).ID; id.Alive() {
		return id.PID
	}
	return 0
}

// Kill kills the server, like a crash, and waits until it is gone.
func (r Redis) Kill(ctx context.Context) error {
	return r.cluster.exclusively(func() error { return r.cluster.table().Get(redis).ID.Kill(ctx) })
}

// Stop stops the server. Acknowledged writes are kept on disk.
func (r Redis) Stop(ctx context.Context) error {
	return r.cluster.exclusively(func() error { return r.cluster.up().stopComponent(ctx, redis, redisGrace) })
}

// Start runs the server again and returns once it responds. The server has its earlier data, or none if wipe is
// set. It is an error to wipe a running server.
func (r Redis) Start(ctx context.Context, wipe bool) error {
	return r.cluster.exclusively(func() error {
		u := r.cluster.up()
		if wipe {
			if r.PID() != 0 {
				return fmt.Errorf("redis is running: stop it before wiping its data")
			}
			if err := os.RemoveAll(u.layout.state(redis)); err != nil {
				return fmt.Errorf("wiping redis: %w", err)
			}
		}
		return u.startAll(ctx, u.redis())
	})
}

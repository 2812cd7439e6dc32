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
	// valkeyFolder has the programs that hack/install-valkey.sh takes from Debian 13.
	valkeyFolder = "/opt/holdfast/debian-13/usr/bin"
	// redisAddress is where the store listens, for pods and for the host.
	redisAddress = hostAddress + ":6379"
	// redisGrace lets it write its log to the end.
	redisGrace = 10 * time.Second
)

// redis is reached by pods as valkey.default.svc.cluster.local:6379.
func (u *up) redis() component {
	dir := u.layout.state(redis)
	return component{
		spec: u.spec(process.Spec{Name: redis, Dir: dir, Command: []string{
			valkeyFolder + "/valkey-server",
			"--bind", hostAddress,
			"--port", fmt.Sprint(redisPort),
			"--protected-mode", "no",
			// Lowered by the server itself to what the limit of open files allows.
			"--maxclients", "65000",
			"--dir", dir,
			"--save", "",
			"--appendonly", "yes",
			"--appendfsync", "everysec",
			"--aof-timestamp-enabled", "yes", // for CutLog
			"--daemonize", "no",
		}}),
		ready: answersPing,
	}
}

// Redis is the store of the cluster, which tests take away and give back.
type Redis struct {
	cluster *Cluster
}

// Redis returns the handle of the cluster's store.
func (c *Cluster) Redis() Redis { return Redis{cluster: c} }

// Address is reached from the host and from pods.
func (r Redis) Address() string { return redisAddress }

// PID returns the server's process id, or 0 when it is stopped.
func (r Redis) PID() int {
	if id := r.cluster.table().Get(redis).ID; id.Alive() {
		return id.PID
	}
	return 0
}

// Kill ends the server at once, as a crash does. It is gone when Kill returns.
func (r Redis) Kill(ctx context.Context) error {
	return r.cluster.exclusively(func() error { return r.cluster.table().Get(redis).ID.Kill(ctx) })
}

// Stop ends the server; what was acknowledged is kept on disk.
func (r Redis) Stop(ctx context.Context) error {
	return r.cluster.exclusively(func() error { return r.cluster.up().stopComponent(ctx, redis, redisGrace) })
}

// Start runs the server again and returns when it answers, with the data of
// before or, if wiped, with none. It is an error to wipe a running server.
func (r Redis) Start(ctx context.Context, wipe bool) error {
	return r.cluster.exclusively(func() error {
		u := r.cluster.up()
		if wipe {
			if r.PID() != 0 {
				return fmt.Errorf("redis runs: stop it before its data is wiped")
			}
			if err := os.RemoveAll(u.layout.state(redis)); err != nil {
				return fmt.Errorf("wiping redis: %w", err)
			}
		}
		return u.startAll(ctx, u.redis())
	})
}

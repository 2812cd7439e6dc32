//go:build e2e

package inplace

import (
	"context"
	"fmt"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"golang.org/x/sys/unix"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// outage stops the store while `during` runs.
func (g *group) outage(wipe bool, during func()) {
	g.Helper()
	g.must(g.Cluster.Redis().Stop(g.ctx))
	started := false
	defer func() {
		if !started { // if the test has failed, the next one still needs the store
			g.must(g.Cluster.Redis().Start(context.Background(), wipe))
		}
	}()
	during()
	g.must(g.Cluster.Redis().Start(g.ctx, wipe))
	started = true
}

// restartOnce restarts the group, so that its restart count is not what an empty store would assume.
func (g *group) restartOnce(workers map[string]framework.Worker) map[string]framework.Worker {
	g.Helper()
	g.signal(worker(workers, 0), unix.SIGUSR1)
	g.awaitPhase(coordination.Running, 1, 1)
	workers = g.awaitRestarted(workers, 1)
	g.awaitCharged(1)
	return workers
}

func TestAStoreThatReturnsStopsNoWorker(t *testing.T) {
	for name, wipe := range map[string]bool{"with its data": false, "without its data": true} {
		t.Run(name, func(t *testing.T) {
			g, workers := startInSync(t, nil)
			workers = g.restartOnce(workers)
			g.outage(wipe, func() { g.stay(workers, 3*time.Second) })
			g.awaitPhase(coordination.Running, 1, 1)
			g.stay(workers, 5*time.Second)
			g.awaitCharged(1)
			g.signal(worker(workers, 2), unix.SIGUSR1)
			g.awaitPhase(coordination.Running, 1, 2)
			g.awaitRestarted(workers, 1)
			g.awaitCharged(2)
		})
	}
}

func TestAFailureDuringAnOutageCausesARestartAfterIt(t *testing.T) {
	for name, wipe := range map[string]bool{"with its data": false, "without its data": true} {
		t.Run(name, func(t *testing.T) {
			g, workers := startInSync(t, nil)
			workers = g.restartOnce(workers)
			dead := worker(workers, 1)
			g.outage(wipe, func() {
				g.signal(dead, unix.SIGKILL)
				g.must(framework.Until(g.ctx, "the kubelet has restarted the dead worker", func(ctx context.Context) error {
					now, err := g.Workers(ctx, g.js.Namespace, g.js.Name)
					if err == nil && (now[dead.ID].Restarts != dead.Restarts+1 || !now[dead.ID].Ready) {
						err = fmt.Errorf("it has restart count %d", now[dead.ID].Restarts)
					}
					return err
				}))
			})
			g.awaitPhase(coordination.Running, 1, 2)
			g.awaitRestarted(workers, 1)
			g.awaitCharged(2)
		})
	}
}

func TestAForeignValueCausesOneErrorAndNoLoss(t *testing.T) {
	cases := map[string]func(ctx context.Context, to *goredis.Client, keys rounds.Keys) error{
		"in the state": func(ctx context.Context, to *goredis.Client, keys rounds.Keys) error {
			return to.Set(ctx, keys.State(), "many", 0).Err()
		},
		"in what the leader has decided": func(ctx context.Context, to *goredis.Client, keys rounds.Keys) error {
			return to.HSet(ctx, keys.Config(), "units", "many").Err()
		},
		"in place of the history": func(ctx context.Context, to *goredis.Client, keys rounds.Keys) error {
			return to.Set(ctx, keys.History(), "many", 0).Err()
		},
	}
	for name, write := range cases {
		t.Run(name, func(t *testing.T) {
			g, workers := startInSync(t, nil)
			workers = g.restartOnce(workers)
			redis := goredis.NewClient(&goredis.Options{Addr: g.Cluster.RedisAddress()})
			defer redis.Close()
			g.must(write(g.ctx, redis, rounds.KeysOf(string(g.js.UID))))
			e := g.awaitEvent("ForeignStoreValue")
			t.Logf("the event says: %s", e.Note)
			g.awaitPhase(coordination.Running, 1, 1)
			g.stay(workers, 3*time.Second)
			g.signal(worker(workers, 2), unix.SIGUSR1)
			g.awaitPhase(coordination.Running, 1, 2)
			g.awaitRestarted(workers, 1)
			g.awaitCharged(2)
			g.awaitEvent("ForeignStoreValue")
		})
	}
}

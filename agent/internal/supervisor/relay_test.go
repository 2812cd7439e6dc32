package supervisor

import (
	"fmt"
	"log/slog"
	"syscall"
	"testing"

	"github.com/holdfast-project/holdfast/agent/internal/config"
	"github.com/holdfast-project/holdfast/agent/internal/store"
	"github.com/holdfast-project/holdfast/agent/internal/testing/workers"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Workers restart through a relay, and through the store once the relay's pod has ended.
func TestGroupWithARelay(t *testing.T) {
	const size = 5
	address := workers.Redis(t)
	leader := workers.LeaderStore(t, address)
	g := newGroup(t, leader, size, "trains")
	n := 0
	g.connect = func() rounds.Members {
		log := slog.New(slog.NewTextHandler(g.pods[n].log, nil))
		n++
		s, err := store.Members(config.Store{Address: address, RelayFrom: 2}, "holdfast-exec", log)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	g.open(limit)
	g.pods[0].start()
	eventually(t, "the relay listens", func() bool { return g.pods[0].log.count("relaying") == 1 })
	for _, p := range g.pods[1:] {
		eventually(t, "the record of the relay", func() bool {
			text, err := leader.Announced(t.Context(), "uid", "js-w-0-0")
			return err == nil && text != ""
		})
		p.start()
	}
	pids := g.recorder.Await(size, "started", "0")
	for _, p := range g.pods[1:] {
		if p.log.count("using a relay") != 1 {
			t.Errorf("%s does not use the relay", p.config.PodUID)
		}
	}
	for d, victims := range [][]int{{0}, {1, 2, 3}, {0, 1, 2, 3, 4}} {
		for _, v := range victims {
			_ = syscall.Kill(pids[fmt.Sprint("js-w-0-", v)], syscall.SIGKILL) // the supervisor may already have ended it
		}
		pids = g.recorder.Await(size, "started", fmt.Sprint(d+1))
	}
	g.pods[0].signals <- syscall.SIGTERM
	g.pods[0].exit()
	for _, p := range g.pods[1:] {
		eventually(t, "it uses the store", func() bool { return p.log.count("using the store") == 1 })
	}
	g.pods[0] = g.pod(0, "trains")
	g.pods[0].config.PodUID, n = "pod0-again", 0
	g.pods[0].start()
	g.recorder.Await(size, "started", "4")
}

package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/cri"
	"github.com/holdfast-project/holdfast/agent/internal/journal"
	"github.com/holdfast-project/holdfast/agent/internal/loop"
	"github.com/holdfast-project/holdfast/agent/internal/startup"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/memory"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

func TestTheAgentExitsWithOneErrorWhenTheRuntimeIsGone(t *testing.T) {
	n := newNode(t, memory.New(time.Now), 0)
	n.runtime.Close()
	driver, err := cri.New(cri.Options{Socket: n.socket, PodUID: "pod0", ContainerName: "worker", PollingInterval: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer driver.Close()
	err = Run(t.Context(), n.config, loop.Parts{
		Driver: driver, Watcher: driver, Store: n.store, Log: journal.New(n.log, slog.LevelInfo),
	}, 500*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), n.socket) || !strings.Contains(err.Error(), "hostPath") {
		t.Errorf("error %v", err)
	}
	if got := n.log.count(`"level":"ERROR"`); got != 1 {
		t.Errorf("%d errors are logged, want 1", got)
	}
}

func TestTheStartUpFileIsWrittenOnceTheVolumeHasSpace(t *testing.T) {
	n := newNode(t, memory.New(time.Now), 0)
	dir := n.config.StartupDir
	n.config.StartupDir = filepath.Join(dir, "later")
	n.runtime.Start("a")
	n.start()
	eventually(t, "the error to be logged", func() bool { return n.log.count("retrying\",\"error\":\"writing agent.json") == 1 })
	if err := os.Mkdir(n.config.StartupDir, 0o755); err != nil {
		t.Fatal(err)
	}
	eventually(t, "written", func() bool {
		m, err := startup.Load(n.config.StartupDir, "pod0")
		return err == nil && m.Attempt != 0
	})
}

func TestTheRoundFileIsWrittenOnceTheVolumeHasSpace(t *testing.T) {
	store := memory.New(time.Now)
	openGroup(t, store, 1)
	n := newNode(t, store, 0)
	dir := n.config.StartupDir
	n.config.StartupDir = filepath.Join(dir, "later")
	n.start()
	eventually(t, "the error to be logged", func() bool { return n.log.count("retrying\",\"error\":\"writing round.env") == 1 })
	if err := os.Mkdir(n.config.StartupDir, 0o755); err != nil {
		t.Fatal(err)
	}
	eventually(t, "written", func() bool {
		content, err := os.ReadFile(filepath.Join(n.config.StartupDir, "round.env"))
		return err == nil && strings.Contains(string(content), "HOLDFAST_RESTART_ROUND")
	})
}

func TestAStartUpFileOfAnotherPodCausesOneWarning(t *testing.T) {
	n := newNode(t, memory.New(time.Now), 0)
	file := filepath.Join(n.config.StartupDir, startup.FileName)
	if err := os.WriteFile(file, startup.Encode("another", worker.Fresh()), 0o644); err != nil {
		t.Fatal(err)
	}
	n.start()
	eventually(t, "warned", func() bool { return n.log.count("startup file invalid") == 1 })
}

func TestAnUnknownSlotIsLoggedOnce(t *testing.T) {
	store := memory.New(time.Now)
	openGroup(t, store, 1)
	n := newNode(t, store, 5)
	n.start()
	eventually(t, "the error to be logged", func() bool { return n.log.count("the group has no slot js-w-0-5, check --worker-id") == 1 })
}

func TestTheErrorNamesThePortInUse(t *testing.T) {
	n := newNode(t, memory.New(time.Now), 0)
	other := newNode(t, n.store, 1)
	other.start()
	eventually(t, "listening", func() bool { code, _ := probe(other); return code != 0 })
	n.config.ReadyPort = other.config.ReadyPort
	err := Run(t.Context(), n.config, loop.Parts{Store: n.store, Log: journal.New(n.log, slog.LevelInfo)}, Patience)
	if err == nil || !strings.Contains(err.Error(), "--ready-port") {
		t.Errorf("error %v", err)
	}
}

package supervisor

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/config"
	"github.com/holdfast-project/holdfast/agent/internal/process"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/memory"
)

// inSlot returns a supervisor in a group in which slot js-w-0-0 is occupied by the pod js-w-spares-1.
func inSlot(spec process.Spec, hosts func(context.Context, []string) (map[string]string, error)) *Supervisor {
	ofGroup := func(ctx context.Context, _ string, slots []string) (map[string]string, error) {
		return hosts(ctx, slots)
	}
	return New(Options{
		Exec:  config.Exec{AnySlot: true, FirstGlobal: 4, FirstGroup: 1},
		Parts: Parts{Program: spec, Start: nobody, Log: quiet(), Hosts: ofGroup},
	})
}

func TestTheProgramIsPlacedInItsSlot(t *testing.T) {
	spec := process.Spec{
		Args: []string{"/js-w-0-0/python", "--rank=" + coordination.PlaceholderPod, "--hosts=js-w-0-0.js:29500,js-w-0-1.js", "js-w-0-01", "xjs-w-0-0"},
		Env: []string{
			"RANK=" + coordination.PlaceholderPod, "JOB=" + coordination.PlaceholderJob + "/" + coordination.PlaceholderGlobal + "/" + coordination.PlaceholderGroup,
			"MASTER_ADDR=js-w-0-0.js", "HOSTNAME=js-w-0-0", "ME=js-w-0-" + coordination.PlaceholderPod + ".js", "EMPTY=",
		},
	}
	var asked []string
	s := inSlot(spec, func(_ context.Context, slots []string) (map[string]string, error) {
		asked = slots
		return map[string]string{"js-w-0-0": "js-w-spares-1"}, nil
	})
	got, order := s.placed(newInstance("a", 1), round{slot: "js-w-0-0"})
	if order != nil {
		t.Fatal("ordered to end")
	}
	want := process.Spec{
		Args: []string{"/js-w-0-0/python", "--rank=0", "--hosts=js-w-spares-1.js:29500,js-w-0-1.js", "js-w-0-01", "xjs-w-0-0"},
		Env:  []string{"RANK=0", "JOB=0/4/1", "MASTER_ADDR=js-w-spares-1.js", "HOSTNAME=js-w-0-0", "ME=js-w-spares-1.js", "EMPTY="},
	}
	if !slices.Equal(got.Args, want.Args) || !slices.Equal(got.Env, want.Env) {
		t.Errorf("got %q %q, want %q %q", got.Args, got.Env, want.Args, want.Env)
	}
	if slices.Sort(asked); !slices.Equal(asked, []string{"js-w-0-0", "js-w-0-01", "js-w-0-1", "xjs-w-0-0"}) {
		t.Errorf("asked for %q", asked)
	}
	if !strings.Contains(spec.Env[0], "__") {
		t.Error("the program of the next round was changed")
	}
}

// A slot name in a path refers to the slot, regardless of the pod in which the slot's worker runs.
func TestPathsWithTheNameOfASlotStay(t *testing.T) {
	spec := process.Spec{
		Args: []string{"python", "--master=tcp://js-w-0-0.js:29500", "--save=/data/js-w-0-0", "--log=js-w-0-0.jsonl", "--peers=js-w-0-0.js,js-w-0-0.js.ns.svc"},
	}
	s := inSlot(spec, func(_ context.Context, slots []string) (map[string]string, error) {
		return map[string]string{"js-w-0-0": "js-w-spares-1"}, nil
	})
	s.options.Subdomain = "js"
	got, _ := s.placed(newInstance("a", 1), round{slot: "js-w-0-0"})
	want := []string{"python", "--master=tcp://js-w-spares-1.js:29500", "--save=/data/js-w-0-0", "--log=js-w-0-0.jsonl", "--peers=js-w-spares-1.js,js-w-spares-1.js.ns.svc"}
	if !slices.Equal(got.Args, want) {
		t.Errorf("got %q, want %q", got.Args, want)
	}
}

func TestAProgramWithoutHostNamesAsksForNone(t *testing.T) {
	s := inSlot(process.Spec{Env: []string{"RANK=" + coordination.PlaceholderPod, "HOSTNAME=js-w-spares-1"}}, nil)
	if got, _ := s.placed(newInstance("a", 1), round{slot: "js-w-0-12"}); got.Env[0] != "RANK=12" {
		t.Errorf("%q", got.Env)
	}
}

// While the store is unreachable, the worker does not start, but can be stopped.
func TestAnUnreachableStoreDelaysTheStart(t *testing.T) {
	var failures atomic.Int32
	s := inSlot(process.Spec{Env: []string{"MASTER_ADDR=js-w-0-0.js"}}, func(context.Context, []string) (map[string]string, error) {
		failures.Add(1)
		return nil, errors.New("unreachable")
	})
	s.Prepare()
	id := observe(s)[0].ID
	s.Start(id, 1, 0, "js-w-0-1")
	eventually(t, "asked", func() bool { return failures.Load() > 1 })
	if !observe(s)[0].Running {
		t.Error("the worker ended")
	}
	mustStop(t, s, id)
	if w := observe(s)[0]; w.Running || w.ExitCode != 143 {
		t.Errorf("%+v after the stop", w)
	}
}

// A pod is deleted, and the leader assigns its slot to a spare. The spare's worker gets the slot's identity and can
// reach its peers.
func TestASpareTakesASlot(t *testing.T) {
	g := newGroup(t, memory.New(time.Now), 2, "trains")
	spare := g.pod(2, "trains")
	spare.config.WorkerID, spare.config.PodUID = "js-w-spares-0", "spare"
	env := g.recorder.Env("trains", "js-w-"+coordination.PlaceholderJob+"-"+coordination.PlaceholderPod)
	for _, p := range []*pod{g.pods[0], g.pods[1], spare} {
		p.config.AnySlot = true
		p.program = &process.Spec{Path: os.Args[0], Args: os.Args[:1], Env: env}
	}
	g.open(limit)
	g.start()
	spare.start()
	if pids := g.recorder.Await(2, "started", "0"); pids["js-w-0-0"] == 0 || pids["js-w-0-1"] == 0 {
		t.Errorf("started %v", pids)
	}
	g.recorder.ExpectNone(50 * time.Millisecond)
	g.pods[0].signals <- syscall.SIGTERM
	if code := g.pods[0].exit(); code != 143 {
		t.Errorf("exit code %d", code)
	}
	eventually(t, "the death is reported", func() bool { return g.summary().Round == 1 })
	stored, err := g.store.Read(t.Context(), "uid")
	if err != nil {
		t.Fatal(err)
	}
	heir := rounds.Slot{Name: "js-w-spares-0", Pod: "spare"}
	if err := g.store.Release(t.Context(), "uid", stored.Config.Token, stored.State.Level, 0, rounds.Slot{Name: "js-w-0-0", Pod: "pod0"}, "js-w-0-0", heir); err != nil {
		t.Fatal(err)
	}
	if pids := g.recorder.Await(2, "started", "1"); pids["js-w-0-0"] == 0 || pids["js-w-0-1"] == 0 {
		t.Errorf("started %v", pids)
	}
}

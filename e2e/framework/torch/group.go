package torch

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Paths of the programs, for use in a container.
var (
	//go:embed train.py
	Train string
	//go:embed close.py
	Close string
)

// Group is a set of torchrun agents on this host. It restarts agents that exit, as an operator would. Each place has
// its own address.
type Group struct {
	Version  Version
	Endpoint string
	RunID    string
	Min, Max int
	Dir      string // for state and logs, below /tmp

	ctx   context.Context
	wait  sync.WaitGroup
	mu    sync.Mutex
	slots map[int]*slot
	ends  int
	done  int
}

// slot is the state of one place.
type slot struct {
	wanted bool
	agent  *exec.Cmd
}

// Start starts n agents. They have ended when ctx is done and Wait has returned.
func (g *Group) Start(ctx context.Context, n int) error {
	g.ctx, g.slots = ctx, map[int]*slot{}
	for name, text := range map[string]string{"train.py": Train, "close.py": Close} {
		if err := os.WriteFile(filepath.Join(g.Dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	g.Scale(n)
	return nil
}

// Wait returns once all agents have ended.
func (g *Group) Wait() { g.wait.Wait() }

// Scale keeps agents at places 1 to n. Agents at higher places receive SIGTERM.
func (g *Group) Scale(n int) {
	for i := 1; i <= n; i++ {
		g.Add(i)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, s := range g.slots {
		if i > n && s.wanted {
			s.wanted = false
			signal(s.agent, syscall.SIGTERM)
		}
	}
}

// Add keeps an agent at a place. The addresses, and therefore the ranks, follow the order of the places: an agent at
// place 0 comes before all others.
func (g *Group) Add(i int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s := g.slots[i]; s == nil || !s.wanted {
		s = &slot{wanted: true}
		g.slots[i] = s
		g.wait.Add(1)
		go g.keep(i, s)
	}
}

// Remove kills the agent at a place and does not replace it.
func (g *Group) Remove(i int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.slots[i].wanted = false
	end(g.slots[i].agent)
}

// keep restarts the agent at a place until it succeeds or is removed.
func (g *Group) keep(i int, s *slot) {
	defer g.wait.Done()
	for g.wanted(s) {
		err := g.run(i, s)
		g.mu.Lock()
		if err == nil {
			g.done++
			s.wanted = false
		} else {
			g.ends++
		}
		g.mu.Unlock()
	}
}

func (g *Group) wanted(s *slot) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return s.wanted && g.ctx.Err() == nil
}

func (g *Group) run(i int, s *slot) error {
	logs, err := os.OpenFile(filepath.Join(g.Dir, fmt.Sprintf("agent-%d.log", i)), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer logs.Close()
	agent := g.command(i)
	agent.Stdout, agent.Stderr = logs, logs
	g.mu.Lock()
	if s.wanted {
		err = agent.Start()
		s.agent = agent
	} else {
		err = errors.New("the agent is no longer required")
	}
	g.mu.Unlock()
	if err != nil {
		return err
	}
	return agent.Wait()
}

// command returns a torchrun command with the settings needed for this release with Python 3.11 (redirects) and for a
// short test (timeouts).
func (g *Group) command(i int) *exec.Cmd {
	args := []string{
		"-m", "torch.distributed.run", fmt.Sprintf("--nnodes=%d:%d", g.Min, g.Max), "--nproc_per_node=1", "--max_restarts=100", "--monitor_interval=1",
		"--rdzv_backend=c10d", "--rdzv_endpoint=" + g.Endpoint, "--rdzv_id=" + g.RunID,
		"--rdzv_conf=is_host=0,last_call_timeout=3,join_timeout=300,read_timeout=30",
		"-r", "2", "-t", "2", "--log_dir=" + filepath.Join(g.Dir, "logs-"+strconv.Itoa(i)), filepath.Join(g.Dir, "train.py"),
	}
	c := g.Version.command(g.ctx, args...)
	c.Dir = g.Dir
	c.Env = append(os.Environ(), "TRAIN_STATE="+g.state(), "TRAIN_PAUSE=0.1", "LOGLEVEL=INFO", "PYTHONUNBUFFERED=1", "OMP_NUM_THREADS=1", "PET_LOCAL_ADDR="+Address(i))
	c.Env = append(append(c.Env, g.Version.Env()...), "TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { end(c); return nil }
	c.WaitDelay = 10 * time.Second
	return c
}

// Address returns the loopback address advertised by the agent at a place.
func Address(place int) string { return fmt.Sprintf("127.0.1.%d", 100+place) }

// Verify returns an error if a step is missing from the saved model, or was applied twice.
func (g *Group) Verify(ctx context.Context) error { return g.Version.Verify(ctx, g.state()) }

// History returns the history of the training.
func (g *Group) History() History { return HistoryOf(g.state()) }

func (g *Group) state() string { return filepath.Join(g.Dir, "state") }

// Finish makes the workers stop after the current step.
func (g *Group) Finish() error { return os.WriteFile(g.state()+".stop", nil, 0o644) }

// Ends returns how often an agent has exited without success. Agents that were still required were restarted.
func (g *Group) Ends() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ends
}

// Done returns how many agents have succeeded.
func (g *Group) Done() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.done
}

// KillAgent kills an agent together with its worker, as happens when a pod is terminated.
func (g *Group) KillAgent(i int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	end(g.slots[i].agent)
}

// KillWorker kills the worker of an agent, but not the agent.
func (g *Group) KillWorker(i int) error {
	g.mu.Lock()
	agent := g.slots[i].agent
	g.mu.Unlock()
	return KillWorkerOf(agent.Process.Pid)
}

// KillWorkerOf kills the worker of the agent with this PID.
func KillWorkerOf(agent int) error { return SignalWorkerOf(agent, syscall.SIGKILL) }

// SignalWorkerOf sends a signal to the worker of the agent with this PID.
func SignalWorkerOf(agent int, signal syscall.Signal) error {
	pids, err := childrenOf(agent)
	if err != nil {
		return err
	}
	for _, pid := range pids {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && strings.Contains(string(line), "train.py") {
			return syscall.Kill(pid, signal)
		}
	}
	return fmt.Errorf("agent %d has no worker", agent)
}

// CloseRendezvous closes the rendezvous. In torch this is permanent.
func (g *Group) CloseRendezvous(ctx context.Context) error {
	out, err := g.Version.command(ctx, filepath.Join(g.Dir, "close.py"), "c10d", g.Endpoint, g.RunID).Output()
	if err != nil || string(out) != "closed\n" {
		return fmt.Errorf("closing the rendezvous: %w: %s", err, out)
	}
	return nil
}

// signal sends a signal to the process group of the agent.
func signal(agent *exec.Cmd, s syscall.Signal) {
	if agent != nil && agent.Process != nil {
		_ = syscall.Kill(-agent.Process.Pid, s)
	}
}

// end kills the agent and its workers, as happens when a container is terminated. torch 2 starts workers in their own
// sessions.
func end(agent *exec.Cmd) {
	if agent == nil || agent.Process == nil {
		return
	}
	trainers, _ := childrenOf(agent.Process.Pid)
	signal(agent, syscall.SIGKILL)
	for _, pid := range trainers {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// childrenOf scans all processes, because not every kernel can list the children of a process.
func childrenOf(parent int) (pids []int, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

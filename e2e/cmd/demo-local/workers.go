package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// start is one start of a worker's program, as printed by the program.
type start struct {
	worker, round, pid int
	at                 time.Time
}

// running is a round in which every worker's program has started.
type running struct {
	last time.Time // when the last program started
	pids [workers]int
}

// supervisors runs the supervisors of all workers, and collects the workers' output.
type supervisors struct {
	commands []*exec.Cmd
	running  sync.WaitGroup
	starts   chan start
	ended    chan error // one value for each supervisor that has ended
}

// maxStarts is how many unread starts are buffered.
const maxStarts = 1000

func startWorkers(programs, folder, store string) (*supervisors, error) {
	s := &supervisors{starts: make(chan start, maxStarts), ended: make(chan error, workers)}
	for i := range workers {
		if err := s.start(programs, filepath.Join(folder, strconv.Itoa(i)), store, i); err != nil {
			return nil, errors.Join(err, s.stop())
		}
	}
	return s, nil
}

// start runs a supervisor the way a pod's container does.
func (s *supervisors) start(programs, volume, store string, i int) error {
	if err := os.Mkdir(volume, 0o755); err != nil {
		return fmt.Errorf("creating the volume of worker %d: %w", i, err)
	}
	log, err := os.Create(filepath.Join(volume, "supervisor.log"))
	if err != nil {
		return fmt.Errorf("creating the log of worker %d: %w", i, err)
	}
	defer log.Close()
	// The shell prints variables from the worker's environment, and then becomes the worker.
	c := exec.Command(filepath.Join(programs, "holdfast-exec"), "--", "sh", "-c",
		`echo "round=$HOLDFAST_RESTART_ROUND pid=$$"; exec "$0"`, filepath.Join(programs, "worker"))
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"), "VALKEY_ADDRESS=" + store, "STARTUP_DIR=" + volume, "JOBSET_UID=" + uid, "JOBSET_NAME=demo",
		"REPLICATED_JOB_NAME=workers", "JOB_INDEX=0", "JOB_COMPLETION_INDEX=" + strconv.Itoa(i), fmt.Sprint("POD_UID=pod-", i),
	}
	c.Stderr = log
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := c.StdoutPipe()
	if err != nil {
		return fmt.Errorf("starting the supervisor of worker %d: %w", i, err)
	}
	if err := c.Start(); err != nil {
		return fmt.Errorf("starting the supervisor of worker %d: %w", i, err)
	}
	s.commands = append(s.commands, c)
	s.running.Go(func() { s.follow(i, c, out) })
	return nil
}

// follow reads a worker's output until its supervisor has ended.
func (s *supervisors) follow(i int, c *exec.Cmd, out io.Reader) {
	next := start{worker: i}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		text := lines.Text()
		if _, err := fmt.Sscanf(text, "round=%d pid=%d", &next.round, &next.pid); err == nil {
			continue
		}
		if rest, ok := strings.CutPrefix(text, "started unix_ms="); ok {
			ms, _, _ := strings.Cut(rest, " ")
			unix, err := strconv.ParseInt(ms, 10, 64)
			if err != nil {
				continue
			}
			next.at = time.UnixMilli(unix)
			s.starts <- next
		}
	}
	s.ended <- fmt.Errorf("the supervisor of worker %d ended: %w", i, cause(c.Wait()))
}

var errExited = errors.New("exit code 0")

func cause(err error) error {
	if err == nil {
		return errExited
	}
	return err
}

// await returns once each worker's program has started in a round. A start in any other round is an error.
func (s *supervisors) await(ctx context.Context, round int) (r running, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for n := 0; n < workers; n++ {
		select {
		case <-ctx.Done():
			return r, fmt.Errorf("waiting for restart %d: %d of %d workers run: %w", round, n, workers, ctx.Err())
		case err := <-s.ended:
			return r, err
		case got := <-s.starts:
			if got.round != round || r.pids[got.worker] != 0 {
				return r, fmt.Errorf("worker %d started in round %d, want one start in round %d", got.worker, got.round, round)
			}
			r.pids[got.worker] = got.pid
			if got.at.After(r.last) {
				r.last = got.at
			}
		}
	}
	return r, nil
}

// fail kills one worker's process and prints how long it took until all run again.
func (s *supervisors) fail(ctx context.Context, round int, now running) (running, error) {
	victim := (3 * round) % workers
	fmt.Println()
	say("kill -9 of worker %d, process %d", victim, now.pids[victim])
	killed := time.Now()
	if err := syscall.Kill(now.pids[victim], syscall.SIGKILL); err != nil {
		return now, fmt.Errorf("killing worker %d: %w", victim, err)
	}
	again, err := s.await(ctx, round)
	if err != nil {
		return now, err
	}
	for i, pid := range again.pids {
		if syscall.Kill(now.pids[i], 0) == nil {
			return again, fmt.Errorf("process %d of worker %d still runs", now.pids[i], i)
		}
		fmt.Printf("  worker %d     process %7d -> %7d\n", i, now.pids[i], pid)
	}
	fmt.Printf("  all %d run again after %d ms, under the same supervisors\n", workers, again.last.Sub(killed).Milliseconds())
	return again, nil
}

// stop stops the supervisors, which stop their workers.
func (s *supervisors) stop() error {
	for _, c := range s.commands {
		_ = c.Process.Signal(syscall.SIGTERM)
	}
	all := make(chan struct{})
	go func() { s.running.Wait(); close(all) }()
	select {
	case <-all:
		return nil
	case <-time.After(timeout):
		return fmt.Errorf("a supervisor did not end within %s", timeout)
	}
}

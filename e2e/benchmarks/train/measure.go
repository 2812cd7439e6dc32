package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/framework/recovery"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

const (
	namespace = "bench-train"
	// rest is how long the training runs before the failure.
	rest = 3 * time.Second
	// patience limits the wait for the next step.
	patience = 90 * time.Second
)

// failures lists the failures in the order in which the page shows them.
var failures = []string{"killed", "hung", deleted}

const (
	deleted = "deleted"
	podEnd  = "pod end" // a phase after this failure only
)

// phases are the phases between a failure and the next step, in order. The first three end when the failure is detected,
// when no old process is left, and when the API server shows that a deleted pod has ended. The others end when the last rank reports their end.
var phases = []string{"detect", "stop", podEnd, "start", "import", "rendezvous", "load", "step"}

// errNoStep means that the training did not continue in time.
var errNoStep = errors.New("no step")

// training is a running JobSet.
type training struct {
	env    *framework.Environment
	way    way
	dir    string // shared with the pods
	jobSet *v1alpha2.JobSet
}

// start creates the training and returns once each rank has completed a step, and the spare waits.
func start(ctx context.Context, env *framework.Environment, w way, dir string) (*training, error) {
	js := jobSet(dir)
	if w.change != nil {
		w.change(js)
	}
	if err := env.Client.Create(ctx, js); err != nil {
		return nil, fmt.Errorf("creating the JobSet: %w", err)
	}
	t := &training{env: env, way: w, dir: dir, jobSet: js}
	if _, err := t.await(ctx, time.Time{}, 2*patience); err != nil || !w.spare {
		return t, err
	}
	return t, t.awaitSpare(ctx)
}

// awaitSpare makes the second node schedulable until the spare runs, and returns once the spare has imported its modules.
func (t *training) awaitSpare(ctx context.Context) error {
	const host = name + "-workers-spares-0"
	err := t.env.Cordon(ctx, recovery.SpareNode, false)
	if err == nil {
		err = t.env.AwaitSpares(ctx, t.jobSet, host)
	}
	if err := errors.Join(err, t.env.Cordon(context.WithoutCancel(ctx), recovery.SpareNode, true)); err != nil {
		return err
	}
	return framework.Until(ctx, "the spare has imported its modules", func(ctx context.Context) error {
		pods, err := t.env.Pods(ctx, namespace, name)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(pods, func(pod corev1.Pod) bool { return pod.Spec.Hostname == host })
		if i < 0 {
			return errors.New("the pod of the spare is gone")
		}
		log, err := t.env.Kube.CoreV1().Pods(namespace).GetLogs(pods[i].Name, &corev1.PodLogOptions{Container: "worker"}).DoRaw(ctx)
		if err == nil && !strings.Contains(string(log), "warm-start template ready") {
			err = errors.New("it has not imported them")
		}
		return err
	})
}

// life holds what a rank's newest process has recorded.
type life struct {
	process string
	at      map[string]time.Time
}

// notes returns a rank's newest process that started after the given time. failed is when the rank failed after that time, or zero if it did
// not.
func (t *training) notes(rank int, after time.Time) (newest life, failed time.Time) {
	f, err := os.Open(filepath.Join(t.dir, fmt.Sprint("notes-", rank)))
	if err != nil {
		return newest, failed
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 {
			continue
		}
		seconds, err := strconv.ParseFloat(fields[0], 64)
		when := time.UnixMicro(int64(seconds * 1e6))
		if err != nil || when.Before(after) {
			continue
		}
		switch what := fields[2]; {
		case what == "start":
			newest = life{fields[1], map[string]time.Time{what: when}}
		case slices.Contains(failures, what):
			failed = when
		case fields[1] == newest.process:
			newest.at[what] = when
		}
	}
	return newest, failed
}

// await waits until each rank has a process that started after the given time and has completed a step. It returns
// those processes.
func (t *training) await(ctx context.Context, after time.Time, limit time.Duration) ([]life, error) {
	var lives []life
	err := framework.UntilEvery(ctx, "each rank has completed a step", 20*time.Millisecond, limit, func(context.Context) error {
		lives = nil
		for rank := range workers {
			if one, _ := t.notes(rank, after); !one.at["step"].IsZero() {
				lives = append(lives, one)
			}
		}
		if len(lives) < workers {
			return errNoStep
		}
		return nil
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("within %s: %w", limit, err)
	}
	return lives, nil
}

// outcome is the result of a failure: the duration of each phase, and the total. A phase that cannot be separated from
// the next one is 0.
type outcome struct {
	Phases map[string]time.Duration `json:"phases,omitempty"`
	Total  time.Duration            `json:"total"` // 0: no step in time
	Load   float64                  `json:"load"`  // machine load in the minute before the failure
}

// loadOfMachine returns the load average of the last minute.
func loadOfMachine() (load float64) {
	text, _ := os.ReadFile("/proc/loadavg")
	_, _ = fmt.Sscan(string(text), &load)
	return load
}

// victim is the rank that fails. It is not rank 0.
const victim = 2

// fail makes a rank fail, and returns how long it took until all ranks had completed another step.
func (t *training) fail(ctx context.Context, failure string) (outcome, error) {
	old, err := t.await(ctx, time.Time{}, patience)
	if err != nil {
		return outcome{}, err
	}
	gone := t.watch(old)
	time.Sleep(rest)
	o := outcome{Phases: map[string]time.Duration{}, Load: loadOfMachine()}
	began, ended, err := t.strike(ctx, victim, failure)
	if err != nil {
		return outcome{}, err
	}
	lives, err := t.await(ctx, began, patience)
	if errors.Is(err, errNoStep) {
		return o, nil
	}
	if err != nil {
		return outcome{}, err
	}
	ends := map[string]time.Time{"stop": began, "detect": t.detected(ctx, began), podEnd: ended()}
	for range old {
		if at := <-gone; at.After(ends["stop"]) {
			ends["stop"] = at
		}
	}
	for _, one := range lives {
		for what, at := range one.at {
			if at.After(ends[what]) {
				ends[what] = at
			}
		}
	}
	o.Total = ends["step"].Sub(began)
	last := began
	for _, phase := range phases {
		if at := ends[phase]; at.After(last) {
			o.Phases[phase] = at.Sub(last)
			last = at
		}
	}
	return o, nil
}

// strike makes a rank fail and returns the time. ended returns when the API server showed that a deleted pod had ended, or zero.
func (t *training) strike(ctx context.Context, rank int, failure string) (at time.Time, ended func() time.Time, err error) {
	if failure == deleted {
		return t.deletePod(ctx, rank)
	}
	before := time.Now()
	order := filepath.Join(t.dir, fmt.Sprint("order-", rank))
	if err := os.WriteFile(order+".new", []byte(failure), 0o666); err != nil {
		return at, nil, err
	}
	if err := os.Rename(order+".new", order); err != nil {
		return at, nil, err
	}
	err = framework.Until(ctx, "rank has failed", func(context.Context) error {
		if _, at = t.notes(rank, before); at.IsZero() {
			return errors.New("it is still running")
		}
		return nil
	})
	return at, func() time.Time { return time.Time{} }, err
}

// deletePod deletes the pod of a rank. With ways to recover other than ours, the next pod may start before the old one has ended, so the
// end of the old pod is not a phase.
func (t *training) deletePod(ctx context.Context, rank int) (at time.Time, ended func() time.Time, err error) {
	all, err := t.env.AwaitWorkers(ctx, namespace, name, workers)
	if err != nil {
		return at, nil, err
	}
	worker := all[framework.IDs(all)[rank]]
	if at, err = t.env.DeletePod(ctx, worker); err != nil || !t.way.records {
		return at, func() time.Time { return time.Time{} }, err
	}
	moment := make(chan time.Time, 1)
	go func() {
		at, _ := t.env.AwaitPodEnd(ctx, worker) // without it, the phase is not shown
		moment <- at
	}()
	return at, func() time.Time { return <-moment }, nil
}

// watch returns a channel that receives the time when each of these processes ends.
func (t *training) watch(all []life) <-chan time.Time {
	ended := make(chan time.Time, len(all))
	for _, one := range all {
		go func() {
			f, err := os.Open(filepath.Join(t.dir, "alive-"+one.process))
			if err == nil {
				err = unix.Flock(int(f.Fd()), unix.LOCK_SH)
				f.Close()
			}
			if err != nil {
				ended <- time.Time{}
				return
			}
			ended <- time.Now()
		}()
	}
	return ended
}

// detected returns when Holdfast detected the last failure. Other ways to recover do not report this.
func (t *training) detected(ctx context.Context, after time.Time) time.Time {
	if !t.way.records {
		return time.Time{}
	}
	records, err := t.env.Records(ctx, string(t.jobSet.UID))
	if err != nil {
		return time.Time{}
	}
	for _, r := range records {
		if at := time.UnixMilli(r.DetectedAt); r.Round > 0 && at.After(after) {
			return at
		}
	}
	return time.Time{}
}

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Environment variables of BenchmarkTraining: a Python interpreter with PyTorch, and the number of ranks (default 2).
// On a machine with GPUs, each rank gets its own GPU.
const (
	pythonVariable = "HOLDFAST_PYTHON"
	ranksVariable  = "HOLDFAST_RANKS"
)

// hangTimeout is how long a rank may go without reporting progress before it is considered hung.
const hangTimeout = 5 * time.Second

// training is a PyTorch training run on this host under holdfast-exec, without Kubernetes.
type training struct {
	b     *testing.B
	dir   string
	ranks int
}

func newTraining(b *testing.B, python string, ranks int, variables ...string) *training {
	t := &training{b: b, dir: b.TempDir(), ranks: ranks}
	script, err := filepath.Abs("../../../e2e/benchmarks/train/train.py")
	if err == nil {
		err = exec.Command("cp", "-r", "../../python", script, t.dir).Run()
	}
	if err != nil {
		b.Fatal(err)
	}
	g := newGroup(b, int64(ranks))
	for i := range ranks {
		s := g.worker(i, "")
		rank := strconv.Itoa(i)
		s.env = slices.Concat(os.Environ(), s.env, variables, []string{
			"STATE=" + t.dir, "SLOT=" + rank, "RANK=" + rank, "WORLD_SIZE=" + strconv.Itoa(ranks), "MASTER_ADDR=127.0.0.1",
			fmt.Sprint("MASTER_PORT=", 20000+os.Getpid()%10000), "PYTHONPATH=" + filepath.Join(t.dir, "python"), "COLLECTIVE_TIMEOUT=600",
			"PROGRESS_TIMEOUT=" + hangTimeout.String(),
		})
		s.args = []string{"--max-stops-per-minute=1000000", "--", python, filepath.Join(t.dir, "train.py")}
		launch(b, s)
	}
	return t
}

// notes returns when a rank last failed, and when its newest process completed its first step, or zero if it has not
// completed one yet.
func (t *training) notes(rank int) (failed, stepped time.Time) {
	f, err := os.Open(filepath.Join(t.dir, fmt.Sprint("notes-", rank)))
	if err != nil {
		return failed, stepped
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		fields := strings.Fields(s.Text())
		if len(fields) != 3 {
			continue
		}
		seconds, _ := strconv.ParseFloat(fields[0], 64)
		switch at := time.UnixMicro(int64(seconds * 1e6)); fields[2] {
		case "start":
			stepped = time.Time{}
		case "step":
			stepped = at
		case "killed", "hung":
			failed = at
		}
	}
	return failed, stepped
}

// await waits until all ranks have completed their first step after the given time. It returns the time of the last
// such step.
func (t *training) await(after time.Time) (last time.Time) {
	for range 12000 {
		done := 0
		for rank := range t.ranks {
			if _, at := t.notes(rank); at.After(after) {
				done++
				if at.After(last) {
					last = at
				}
			}
		}
		if done == t.ranks {
			return last
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.b.Fatal("the training did not resume")
	return last
}

// fail makes the last rank fail, and returns how long it takes all ranks to complete their next step.
func (t *training) fail(failure string) time.Duration {
	rank := t.ranks - 1
	before := time.Now()
	order := filepath.Join(t.dir, fmt.Sprint("order-", rank))
	err := os.WriteFile(order+".new", []byte(failure), 0o600)
	if err == nil {
		err = os.Rename(order+".new", order)
	}
	if err != nil {
		t.b.Fatal(err)
	}
	last := t.await(before)
	failed, _ := t.notes(rank)
	return last.Sub(failed)
}

// memory returns the largest GPU memory usage, in MiB, that was recorded when a process started, or -1 without a GPU.
func (t *training) memory() float64 {
	most := -1.0
	files, _ := filepath.Glob(filepath.Join(t.dir, "memory-*"))
	for _, file := range files {
		content, _ := os.ReadFile(file)
		for _, field := range strings.Fields(string(content)) {
			if mib, err := strconv.ParseFloat(field, 64); err == nil {
				most = max(most, mib)
			}
		}
	}
	return most
}

// BenchmarkTraining kills or hangs a rank of a PyTorch training run. It reports the median and the maximum time until
// all ranks have completed their next step, with cold and warm starts. It is run by hack/measure-gpu.sh.
func BenchmarkTraining(b *testing.B) {
	python := os.Getenv(pythonVariable)
	if python == "" {
		b.Skipf("%s does not name a Python interpreter with PyTorch", pythonVariable)
	}
	ranks := 2
	if n, err := strconv.Atoi(os.Getenv(ranksVariable)); err == nil {
		ranks = n
	}
	for name, variables := range map[string][]string{"cold": nil, "warm": {preloadVariable + "=torch,torch.distributed,torch._dynamo,torch.nn.parallel"}} {
		for _, failure := range []string{"killed", "hung"} {
			b.Run(name+"/"+failure, func(b *testing.B) {
				t := newTraining(b, python, ranks, variables...)
				t.await(time.Time{})
				var all []time.Duration
				for b.Loop() {
					time.Sleep(time.Second)
					all = append(all, t.fail(failure))
				}
				slices.Sort(all)
				b.ReportMetric(all[len(all)/2].Seconds(), "median-s")
				b.ReportMetric(all[len(all)-1].Seconds(), "worst-s")
				b.ReportMetric(t.memory(), "MiB-before-start")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

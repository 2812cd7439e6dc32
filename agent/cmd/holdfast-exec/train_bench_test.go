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
	"syscall"
	"testing"
	"time"
)

// ranks of the training.
const ranks = 4

// torchRoot is where hack/install-torch-2.6.sh puts PyTorch.
const torchRoot = "/var/cache/holdfast/debian13-torch2.6"

// wrapper is a python3 that runs the one of torchRoot, and sees the files below /tmp.
const wrapper = `#!/bin/sh -e
[ -n "$ENTERED" ] || ENTERED=1 exec unshare --mount --propagation private "$0" "$@"
for d in /dev /proc /tmp; do mount --rbind $d ` + torchRoot + `$d; done
exec chroot ` + torchRoot + ` /usr/bin/python3 "$@"
`

// phases of a restart, in their order. The first is from the kill to the first line of the script, on the last rank.
var phases = []string{"start", "import", "rendezvous", "load", "step"}

// training is one way to run the ranks, on this host without Kubernetes.
type training struct {
	b      *testing.B
	dir    string
	python string
	port   int
}

func newTraining(b *testing.B) *training {
	t := &training{b: b, dir: b.TempDir(), port: 20000 + os.Getpid()%10000}
	t.python = filepath.Join(t.dir, "python3")
	script, err := os.ReadFile("testdata/train.py")
	for name, content := range map[string][]byte{"python3": []byte(wrapper), "train.py": script} {
		if err == nil {
			err = os.WriteFile(filepath.Join(t.dir, name), content, 0o755)
		}
	}
	if err != nil {
		b.Fatal(err)
	}
	return t
}

func (t *training) script() string        { return filepath.Join(t.dir, "train.py") }
func (t *training) lines(rank int) string { return filepath.Join(t.dir, fmt.Sprint("lines-", rank)) }
func (t *training) environ(rank int) []string {
	return []string{"LINES=" + t.lines(rank), "STATE=" + filepath.Join(t.dir, "state"), "USE_LIBUV=0", "OMP_NUM_THREADS=1", "PATH=" + os.Getenv("PATH")}
}

// supervised runs the ranks below holdfast-exec.
func (t *training) supervised(variables ...string) {
	g := newGroup(t.b, ranks)
	path, err := filepath.Abs("../../python")
	if err == nil {
		err = exec.Command("cp", "-r", path, filepath.Join(t.dir, "python")).Run()
	}
	if err != nil {
		t.b.Fatal(err)
	}
	for i := range ranks {
		s := g.worker(i, "")
		s.env = append(append(s.env, t.environ(i)...), "RANK="+strconv.Itoa(i), "WORLD_SIZE="+strconv.Itoa(ranks), "MASTER_ADDR=127.0.0.1",
			"MASTER_PORT="+strconv.Itoa(t.port), "PYTHONPATH="+filepath.Join(t.dir, "python"))
		s.env = append(s.env, variables...)
		s.args = []string{"--max-stops-per-minute=1000000", "--", t.python, t.script()}
		launch(t.b, s)
	}
}

// newest returns the times of the phases of the newest process of a rank that has begun after a time and has done a step.
func (t *training) newest(rank int, after time.Time) (pid int, at map[string]time.Time) {
	f, err := os.Open(t.lines(rank))
	if err != nil {
		return 0, nil
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		fields := strings.Fields(s.Text())
		if len(fields) != 3 {
			continue
		}
		seconds, _ := strconv.ParseFloat(fields[0], 64)
		when, process := time.UnixMicro(int64(seconds*1e6)), 0
		process, _ = strconv.Atoi(fields[1])
		if fields[2] == "start" && when.After(after) {
			pid, at = process, map[string]time.Time{}
		}
		if _, known := at[fields[2]]; process == pid && at != nil && !known {
			at[fields[2]] = when
		}
	}
	return pid, at
}

// await returns when all ranks have done a step, how long each phase took after the kill on the last rank, and rank 1's process.
func (t *training) await(after time.Time) (took []time.Duration, victim int) {
	for range 12000 {
		last, done := make([]time.Time, len(phases)), 0
		for rank := range ranks {
			pid, at := t.newest(rank, after)
			if _, stepped := at["step"]; !stepped {
				break
			}
			if rank == 1 {
				victim = pid
			}
			for i, phase := range phases {
				if at[phase].After(last[i]) {
					last[i] = at[phase]
				}
			}
			done++
		}
		if done == ranks {
			for i, at := range last {
				took = append(took, at.Sub(after))
				if i > 0 {
					took[i] = at.Sub(last[i-1])
				}
			}
			return append(took, last[len(last)-1].Sub(after)), victim
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.b.Fatal("the training does not go on")
	return nil, 0
}

// BenchmarkTraining kills the process of a rank: from the kill to the next optimizer step on all ranks, by phase. It needs root and PyTorch
// 2.6, which hack/install-torch-2.6.sh installs.
func BenchmarkTraining(b *testing.B) {
	for _, way := range []struct {
		name string
		run  func(*training)
	}{
		{"cold", func(t *training) { t.supervised() }},
		{"warm", func(t *training) { t.supervised(preloadVariable + "=torch,torch.distributed,torch._dynamo") }},
	} {
		b.Run(way.name, func(b *testing.B) {
			t := newTraining(b)
			way.run(t)
			_, victim := t.await(time.Time{})
			var all [][]time.Duration
			for b.Loop() {
				time.Sleep(time.Second)
				began := time.Now()
				if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
					b.Fatal(err)
				}
				var took []time.Duration
				took, victim = t.await(began)
				all = append(all, took)
			}
			for i, name := range append(slices.Clone(phases), "total") {
				var one []time.Duration
				for _, took := range all {
					one = append(one, took[i])
				}
				slices.Sort(one)
				b.ReportMetric(one[len(one)/2].Seconds(), name+"-s")
				if name == "total" {
					b.ReportMetric(one[len(one)-1].Seconds(), "worst-s")
				}
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

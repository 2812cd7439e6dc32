// Command train measures, on the real node, the time from the failure of one rank of a PyTorch training job to the next
// optimizer step on all ranks. It does so for each way to recover and each failure: a killed process, a hung rank, a
// deleted pod. It writes all values to e2e/results/train, with a file for each way, and generates the page from all
// files there. It is not a test: no measured time makes it fail.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/framework/recovery"
	"github.com/holdfast-project/holdfast/e2e/framework/torch"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	only := flag.String("only", "", "measure the ways whose names match this expression; empty: all")
	repeats := flag.Int("repeats", 3, "how often each failure is measured")
	report := flag.String("report", "", "the page to write")
	flag.Parse()
	if err := bench(ctx, *only, *repeats, *report); err != nil {
		fmt.Fprintln(os.Stderr, "bench-train:", err)
		os.Exit(1)
	}
}

// result holds the measurements of one way to recover.
type result struct {
	Way      string               `json:"way"`
	Measured string               `json:"measured"` // the day
	Outcomes map[string][]outcome `json:"outcomes"` // by failure
}

func bench(ctx context.Context, only string, repeats int, report string) error {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	env, err := framework.New(ctx, testbed.Options{Nodes: recovery.SpareNode}, os.Stderr)
	if err != nil {
		return err
	}
	defer env.Close()
	if err := env.Install(ctx); err != nil {
		return err
	}
	if err := env.Namespace(ctx, namespace); err != nil {
		return err
	}
	if err := env.Cordon(ctx, recovery.SpareNode, true); err != nil {
		return err
	}
	if err := torch.LoadImage(ctx, env.Cluster); err != nil {
		return err
	}
	results := env.File("e2e", "results", "train")
	for i, w := range ways {
		if !wanted.MatchString(w.name) {
			continue
		}
		r, err := measure(ctx, env, w, repeats)
		if err == nil {
			err = save(filepath.Join(results, fmt.Sprintf("%d.json", i)), r)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	if report == "" {
		return nil
	}
	all, err := load(results)
	if err != nil {
		return err
	}
	return os.WriteFile(report, []byte(page(all)), 0o644)
}

// measure makes training jobs fail with one way to recover. Each failure is the first of its training job, so that the
// kubelet's back-off has no effect.
func measure(ctx context.Context, env *framework.Environment, w way, repeats int) (r result, err error) {
	r = result{Way: w.name, Measured: time.Now().Format(time.DateOnly), Outcomes: map[string][]outcome{}}
	if w.published {
		restore, err := env.InstallPublished(ctx, namespace)
		if err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, restore(context.WithoutCancel(ctx))) }()
	}
	for _, failure := range failures {
		for range repeats {
			o, err := once(ctx, env, w, failure)
			if err != nil {
				return r, fmt.Errorf("%s: %w", failure, err)
			}
			fmt.Fprintf(os.Stderr, "%-45s %-8s %6.2f s, load %.1f %v\n", w.name, failure, o.Total.Seconds(), o.Load, o.Phases)
			r.Outcomes[failure] = append(r.Outcomes[failure], o)
		}
	}
	return r, nil
}

// once starts a training job, makes it fail, and removes it.
func once(ctx context.Context, env *framework.Environment, w way, failure string) (o outcome, err error) {
	dir, err := prepare(env)
	if err != nil {
		return o, err
	}
	defer os.RemoveAll(dir)
	defer func() { err = errors.Join(err, env.Remove(context.WithoutCancel(ctx), namespace, name)) }()
	t, err := start(ctx, env, w, dir)
	if err != nil {
		return o, err
	}
	return t.fail(ctx, failure)
}

// prepare creates the directory that the ranks share.
func prepare(env *framework.Environment) (string, error) {
	dir, err := os.MkdirTemp("", "holdfast-train-")
	if err != nil {
		return "", err
	}
	err = os.Chmod(dir, 0o777)
	for _, copied := range [][2]string{
		{env.File("e2e", "benchmarks", "train", "train.py"), "train.py"}, {env.File("agent", "python"), "python"},
	} {
		if err == nil {
			err = exec.Command("cp", "-r", copied[0], filepath.Join(dir, copied[1])).Run()
		}
	}
	return dir, err
}

func save(file string, r result) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("saving the results: %w", err)
	}
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(content, '\n'), 0o644)
}

// load returns the existing results, in the order of ways.
func load(folder string) ([]result, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	var all []result
	for _, file := range files {
		var r result
		content, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(content, &r)
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", strings.TrimPrefix(file, folder), err)
		}
		all = append(all, r)
	}
	return all, nil
}

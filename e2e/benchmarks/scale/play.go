package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/e2e/benchmarks/scale/results"
	"github.com/holdfast-project/holdfast/e2e/testbed/binaries"
)

// playAll measures all scenarios for each way to recover.
func (b *benchmark) playAll(ctx context.Context) error {
	for _, way := range b.ways {
		if err := b.play(ctx, way); err != nil {
			return fmt.Errorf("%s: %w", way, err)
		}
	}
	return nil
}

// scenario is measured on a running group, and leaves it running.
type scenario struct {
	name string
	play func(context.Context, *group) error
	in   func(way string) bool
}

func (b *benchmark) scenariosOf() []scenario {
	every := func(string) bool { return true }
	return []scenario{
		{results.Steady, b.steadily, every},
		{results.Failure, b.fail, every},
		{results.Pod, b.losePods(results.Pod), every},
		{results.PodAlone, b.alone(b.losePods(results.PodAlone)), inPlace},
		{results.Ten, b.failTen, inPlace},
		{results.Rack, b.loseRack(results.Rack), inPlace},
		{results.RackAlone, b.alone(b.loseRack(results.RackAlone)), inPlace},
		{results.Repeat, b.repeat, inPlace},
	}
}

// play measures one kind of recovery. It first removes the objects of the previous one. The last one's objects remain until the testbed
// is taken down.
func (b *benchmark) play(ctx context.Context, way string) error {
	if err := errors.Join(b.remove(ctx), b.manage(ctx, way)); err != nil {
		return err
	}
	if slices.ContainsFunc(b.scenariosOf(), func(s scenario) bool { return slices.Contains(b.scenarios, s.name) }) {
		if err := b.playOne(ctx, way); err != nil {
			return err
		}
	}
	if !slices.Contains(b.scenarios, results.Many) || way == results.Spares { // which would need more nodes
		return nil
	}
	if err := b.remove(ctx); err != nil {
		return err
	}
	return b.playMany(ctx, way)
}

// playOne measures all scenarios with one JobSet.
func (b *benchmark) playOne(ctx context.Context, way string) error {
	began := time.Now()
	g, err := b.start(ctx, "train", way, pools, b.workers/pools, way != results.Spares)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%-22s %5d workers run after %.1f s\n", way, g.size, time.Since(began).Seconds())
	for _, s := range b.scenariosOf() {
		if !slices.Contains(b.scenarios, s.name) || !s.in(way) {
			continue
		}
		if err := s.play(ctx, g); err != nil {
			return fmt.Errorf("scenario %s: %w", s.name, err)
		}
	}
	return nil
}

// keep adds a result to the file immediately, so that it is not lost if a later step fails.
func (b *benchmark) keep(k results.Key, runs []results.Run, skipped int) error {
	k.Kubelet = b.kubelet
	machine := b.machine
	if byPublished(k.Way) {
		machine = machine.With(results.JobSet, binaries.JobSetVersion)
	}
	result := results.Result{Key: k, At: time.Now().UTC().Truncate(time.Second), Machine: machine, Runs: runs, Skipped: skipped}
	if err := keepRaw(b.env.File("e2e", "results", "scale"), result); err != nil {
		return err
	}
	file := filepath.Join(b.env.File(), b.results)
	all, err := results.Load(file)
	if err != nil {
		return err
	}
	put := results.Merge
	if b.add {
		put = results.Add
	}
	return results.Save(file, put(all, result))
}

// keepRaw writes the unrounded result to a file with the time in its name.
func keepRaw(folder string, r results.Result) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, fmt.Sprintf("%s-%s-%d.json", r.At.Format("20060102T150405Z"), r.Scenario, r.Workers)), content, 0o644)
}

func (b *benchmark) say(g *group, scenario string, r results.Run) {
	line := fmt.Sprintf("%-22s %5d workers, %-8s %8.3f s ", g.way, g.size, scenario, r.Seconds)
	for _, p := range r.Phases {
		line += fmt.Sprintf(" %s %.3f", p.Name, p.At)
	}
	u := r.Usage
	line += fmt.Sprintf("; %.0f API calls (ours %.0f + %.0f), %.0f etcd writes, store %v\n  CPU", u.Calls["all"], u.Calls[manager], u.Calls[orchestrator], u.EtcdWrites, u.Store)
	for _, name := range programs {
		line += fmt.Sprintf(" %s %.2f", name, u.CPU[name])
	}
	fmt.Fprintln(os.Stderr, line)
}

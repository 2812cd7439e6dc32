package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/holdfast-project/holdfast/rescheduler/scheduler/internal/testing/inprocess"
	"github.com/holdfast-project/holdfast/shared/testing/cputime"
)

const (
	namespace = "default"
	creators  = 16
	patience  = 10 * time.Minute
)

// sample is one measurement. Times are per pod.
type sample struct {
	PodsPerSecond float64 `json:"podsPerSecond"`
	Algorithm     float64 `json:"algorithmMilliseconds"` // from taking a pod out of the queue until a node is chosen
	CPU           float64 `json:"cpuMilliseconds"`       // CPU time of the scheduler's process
	Allocated     float64 `json:"allocatedKiB"`          // memory allocated by the scheduler's process
	Batched       float64 `json:"batchedShare"`          // pods placed using the result of the previous pod
}

// series contains all measurements of one variant on one cluster.
type series struct {
	Nodes   int      `json:"nodes"`
	Shape   string   `json:"shape"`
	Variant string   `json:"variant"`
	Samples []sample `json:"samples"`
}

type bench struct {
	options
	config *rest.Config
	client kubernetes.Interface
	made   int // number of nodes created
}

func newBench(config *rest.Config, o options) (*bench, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.ContentType, config.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(config)
	return &bench{options: o, config: config, client: client}, err
}

func (b *bench) measure(ctx context.Context) ([]*series, error) {
	var all []*series
	for _, nodes := range b.nodes {
		if err := b.grow(ctx, nodes); err != nil {
			return nil, err
		}
		for _, s := range shapes {
			measured, err := b.takeTurns(ctx, s)
			if err != nil {
				return nil, fmt.Errorf("%d nodes, %s: %w", nodes, s.Name, err)
			}
			all = append(all, measured...)
		}
	}
	return all, nil
}

// takeTurns runs all variants in each round, and starts each round with a different one. The first round is a warm-up and is not counted.
func (b *bench) takeTurns(ctx context.Context, s shape) ([]*series, error) {
	measured := make([]*series, len(variants))
	for i, v := range variants {
		measured[i] = &series{Nodes: b.made, Shape: s.Name, Variant: v.Name}
	}
	for round := range b.rounds + 1 {
		for turn := range variants {
			i := (turn + round) % len(variants)
			if round == 0 && turn > 0 {
				continue
			}
			got, err := b.once(ctx, s, variants[i])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", variants[i].Name, err)
			}
			fmt.Fprintf(os.Stderr, "%d nodes, %s, round %d, %s: %.0f pods/s, %.2f ms\n", b.made, s.Name, round, variants[i].Name, got.PodsPerSecond, got.Algorithm)
			if round > 0 {
				measured[i].Samples = append(measured[i].Samples, got)
			}
		}
	}
	return measured, nil
}

// once creates all pods, starts the scheduler, and measures until all of them are scheduled.
func (b *bench) once(ctx context.Context, s shape, v variant) (sample, error) {
	pods := b.pods / s.share
	if err := b.each(ctx, pods, func(i int) error { return b.createPod(ctx, i, s, v) }); err != nil {
		return sample{}, err
	}
	configuration, err := v.configuration(s)
	if err != nil {
		return sample{}, err
	}
	runtime.GC()
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	before := readUsage().scheduled
	_, done, err := inprocess.Start(running, b.config, configuration)
	if err != nil {
		return sample{}, err
	}
	begin, started := readUsage(), time.Now()
	err = b.untilBound(ctx, before+float64(pods))
	elapsed, end := time.Since(started), readUsage()
	cancel()
	<-done
	if err != nil {
		return sample{}, err
	}
	return end.since(begin, elapsed, pods), b.deletePods(ctx)
}

// untilBound polls the scheduler's own counter, which adds no load.
func (b *bench) untilBound(ctx context.Context, scheduled float64) error {
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		return readUsage().scheduled >= scheduled, nil
	})
}

func (b *bench) grow(ctx context.Context, nodes int) error {
	first := b.made
	b.made = nodes
	return b.each(ctx, nodes-first, func(i int) error {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(first + i)}}
		node.Labels = map[string]string{corev1.LabelHostname: node.Name, corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", (first+i)%3)}
		node.Status.Allocatable = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("32Gi"), corev1.ResourcePods: resource.MustParse("110"),
		}
		node.Status.Capacity = node.Status.Allocatable
		_, err := b.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		return err
	})
}

func (b *bench) createPod(ctx context.Context, i int, s shape, v variant) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%05d", i), Annotations: v.annotations(i, b.made, b.excluded)}}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(s.cpus), corev1.ResourceMemory: resource.MustParse("100Mi")}
	_, err := b.client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
	return err
}

func (b *bench) deletePods(ctx context.Context) error {
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	if err := b.client.CoreV1().Pods(namespace).DeleteCollection(ctx, now, metav1.ListOptions{}); err != nil {
		return err
	}
	return b.client.EventsV1().Events(namespace).DeleteCollection(ctx, now, metav1.ListOptions{})
}

// each calls f for 0 to n-1, some of them concurrently, and returns one of the errors.
func (b *bench) each(ctx context.Context, n int, f func(i int) error) error {
	var next atomic.Int64
	errs := make(chan error, creators)
	for range creators {
		go func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if err := f(int(i)); err != nil {
					errs <- err
					return
				}
			}
			errs <- ctx.Err()
		}()
	}
	var first error
	for range creators {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// usage is what this process has used, and what its scheduler has done, since the process started.
type usage struct {
	cpu       time.Duration
	allocated uint64
	scheduled float64
	algorithm float64 // seconds
	batched   float64
}

func readUsage() usage {
	u := usage{cpu: cputime.Used()}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u.allocated = m.TotalAlloc
	families, _ := legacyregistry.DefaultGatherer.Gather()
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			switch name := family.GetName(); {
			case name == "scheduler_schedule_attempts_total" && labels["result"] == "scheduled":
				u.scheduled += metric.GetCounter().GetValue()
			case name == "scheduler_scheduling_algorithm_duration_seconds":
				u.algorithm += metric.GetHistogram().GetSampleSum()
			case name == "scheduler_batch_attempts_total" && labels["result"] == "hint_used":
				u.batched += metric.GetCounter().GetValue()
			}
		}
	}
	return u
}

func (u usage) since(begin usage, elapsed time.Duration, pods int) sample {
	n := float64(pods)
	return sample{
		PodsPerSecond: n / elapsed.Seconds(),
		Algorithm:     (u.algorithm - begin.algorithm) * 1000 / n,
		CPU:           float64((u.cpu - begin.cpu).Microseconds()) / 1000 / n,
		Allocated:     float64(u.allocated-begin.allocated) / 1024 / n,
		Batched:       (u.batched - begin.batched) / n,
	}
}

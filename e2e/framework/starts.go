package framework

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StartsAfter waits until n workers have each started their program after the given time, in the same container, a new
// container or a new pod. It returns when the last one started, according to the programs' logs.
func (env *Environment) StartsAfter(ctx context.Context, namespace, jobSet string, n int, moment time.Time) (last time.Time, err error) {
	started := map[string]time.Time{} // by pod and worker
	err = Until(ctx, fmt.Sprintf("%d workers of %s have started again", n, jobSet), func(ctx context.Context) error {
		workers, err := env.Workers(ctx, namespace, jobSet)
		if err != nil {
			return err
		}
		last = time.Time{}
		again := 0
		for _, w := range workers {
			at, known := started[w.PodUID]
			if !known {
				if at, known = env.startAfter(ctx, w, moment); !known {
					continue
				}
				started[w.PodUID] = at
			}
			again++
			if at.After(last) {
				last = at
			}
		}
		if again < n {
			return fmt.Errorf("%d have started again", again)
		}
		return nil
	})
	return last, err
}

// startAfter returns the first start after the given time in the log of a worker's container. It returns false if there
// is none, or if the log cannot be read yet.
func (env *Environment) startAfter(ctx context.Context, w Worker, moment time.Time) (time.Time, bool) {
	since := metav1.NewTime(moment.Add(-time.Second))
	stream, err := env.Kube.CoreV1().Pods(w.Namespace).GetLogs(w.Pod, &corev1.PodLogOptions{
		Container: w.Container, SinceTime: &since,
	}).Stream(ctx)
	if err != nil {
		return time.Time{}, false
	}
	defer stream.Close()
	for lines := bufio.NewScanner(stream); lines.Scan(); {
		if at, ok := startIn(lines.Text()); ok && at.After(moment) {
			return at, true
		}
	}
	return time.Time{}, false
}

// Starts returns how often a worker's program has started in its current container.
func (env *Environment) Starts(ctx context.Context, w Worker) (int, error) {
	stream, err := env.Kube.CoreV1().Pods(w.Namespace).GetLogs(w.Pod, &corev1.PodLogOptions{Container: w.Container}).Stream(ctx)
	if err != nil {
		return 0, fmt.Errorf("reading the log of %s: %w", w.Pod, err)
	}
	defer stream.Close()
	n := 0
	lines := bufio.NewScanner(stream)
	for lines.Scan() {
		if _, ok := startIn(lines.Text()); ok {
			n++
		}
	}
	return n, lines.Err()
}

// HasBegun returns an error until the program in a worker's current container has logged its start. Before that, the
// program does not handle signals as intended.
func (env *Environment) HasBegun(ctx context.Context, w Worker) error {
	return env.LogHas(ctx, w, "started ")
}

// LogHas returns an error until the current container of a worker has logged a line that begins with text.
func (env *Environment) LogHas(ctx context.Context, w Worker, text string) error {
	stream, err := env.Kube.CoreV1().Pods(w.Namespace).GetLogs(w.Pod, &corev1.PodLogOptions{Container: w.Container}).Stream(ctx)
	if err != nil {
		return fmt.Errorf("reading the log of %s: %w", w.Pod, err)
	}
	defer stream.Close()
	for lines := bufio.NewScanner(stream); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), text) {
			return nil
		}
	}
	return fmt.Errorf("the log of %s has no line that begins with %q", w.Pod, text)
}

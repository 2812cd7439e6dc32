package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-project/holdfast/cli/internal/read"
)

// film plays a sequence of workload states with a fake clock: a pause ends immediately and advances the time.
type film struct {
	pictures []*unstructured.Unstructured
	err      error // returned after the last state
	now      time.Time
	pauses   []time.Duration
	paused   func() // called during each pause
	asked    []string
	troubles map[int]error // errors to return instead of a state, by the number of the read
}

func (f *film) Workload(_ context.Context, _, name string) (*read.Workload, error) {
	f.asked = append(f.asked, name)
	if err := f.troubles[len(f.asked)]; err != nil {
		return nil, err
	}
	if len(f.pictures) == 0 {
		return nil, f.err
	}
	w := &read.Workload{Objects: f.pictures[:1]}
	f.pictures = f.pictures[1:]
	return w, nil
}

func (f *film) after(d time.Duration) <-chan time.Time {
	f.pauses = append(f.pauses, d)
	f.now = f.now.Add(d)
	if f.paused != nil {
		f.paused()
		return nil // never ready: the context ends the pause
	}
	c := make(chan time.Time, 1)
	c <- f.now
	return c
}

// watch runs the film and returns the output.
func (f *film) watch(ctx context.Context, interactive bool) (string, error) {
	f.now = time.Date(2026, 11, 22, 13, 0, 0, 0, time.UTC)
	var out bytes.Buffer
	c := &command{Terminal: Terminal{Out: &out, Err: &out, Interactive: interactive, Now: func() time.Time { return f.now }, After: f.after}}
	err := c.watch(ctx, f, "team", "train")
	return out.String(), err
}

// picture returns an ElasticJob, because its state does not depend on pods.
func picture(condition, mark string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "elastic.pytorch.org/v1alpha1", "kind": "ElasticJob", "metadata": map[string]any{"name": "train", "namespace": "team"},
		"status": map[string]any{"conditions": []any{map[string]any{"type": condition, "status": "True"}}},
	}}
	if mark != "" {
		o.SetAnnotations(map[string]string{"holdfast.dev/recovering": mark})
	}
	return o
}

const restarts = `{"level":3,"reason":"a worker failed","deadline":"2026-11-22T13:00:31Z"}`

// life returns a film of a workload that trains, recovers, trains again and finishes.
func life() *film {
	return &film{pictures: []*unstructured.Unstructured{
		picture("Running", ""), picture("Running", ""), picture("Running", restarts), picture("Running", restarts), picture("Running", ""), picture("Succeeded", ""),
	}}
}

// update returns the output that updates a line. The terminal does not wrap it, because a later update clears only one row.
func update(line string) string { return "\r\x1b[K\x1b[?7l" + line + "\x1b[?7h" }

// last returns the output that updates a line for the last time. The terminal may wrap it.
func last(line string) string { return update(line) + "\r\x1b[K" + line + "\n" }

func TestWatchUpdatesOneLineOnATerminal(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	f := life()
	got, err := f.watch(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	want := update("13:00:00  ElasticJob train  0 of 0 ready  Training  worker failures 0") +
		update("13:00:01  ElasticJob train  0 of 0 ready  Training  worker failures 0") +
		update("13:00:02  ElasticJob train  0 of 0 ready  Recovering at recovery level 3, 29s left: a worker failed  worker failures 0") +
		update("13:00:02  ElasticJob train  0 of 0 ready  Recovering at recovery level 3, 29s left: a worker failed  worker failures 0") +
		update("13:00:02  ElasticJob train  0 of 0 ready  Training  worker failures 0") +
		last("13:00:03  ElasticJob train  0 of 0 ready  Finished  worker failures 0")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if want := []time.Duration{slowPoll, slowPoll, fastPoll, fastPoll, slowPoll}; !slices.Equal(f.pauses, want) {
		t.Errorf("pauses %v, want %v: more often during a recovery", f.pauses, want)
	}
}

// Resolving a name and its root takes several requests. A JobSet may be temporarily absent during a reset.
func TestWatchFindsTheRootOnce(t *testing.T) {
	f := life()
	if _, err := f.watch(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	const root = "ElasticJob/train"
	if want := []string{"train", root, root, root, root, root}; !slices.Equal(f.asked, want) {
		t.Errorf("looked up as %q, want %q", f.asked, want)
	}
}

func TestWatchPrintsChangesWithoutATerminal(t *testing.T) {
	got, err := life().watch(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	want := `13:00:00  ElasticJob train  0 of 0 ready  Training  worker failures 0
13:00:02  ElasticJob train  0 of 0 ready  Recovering at recovery level 3, 29s left: a worker failed  worker failures 0
13:00:02  ElasticJob train  0 of 0 ready  Training  worker failures 0
13:00:03  ElasticJob train  0 of 0 ready  Finished  worker failures 0
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Later output from the shell or about an error starts on a new line.
func TestWatchEndsTheLine(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	line := last("13:00:00  ElasticJob train  0 of 0 ready  Training  worker failures 0")
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	gone := fmt.Errorf("%w: gone", read.ErrNotFound)
	for name, tc := range map[string]struct {
		film *film
		err  error
		want string
	}{
		"it is interrupted":       {&film{pictures: []*unstructured.Unstructured{picture("Running", "")}, paused: interrupt}, context.Canceled, line},
		"the workload is gone":    {&film{pictures: []*unstructured.Unstructured{picture("Running", "")}, err: gone}, gone, line},
		"it never existed":        {&film{err: gone}, gone, ""},
		"the workload has failed": {&film{pictures: []*unstructured.Unstructured{picture("Failed", "")}}, nil, last("13:00:00  ElasticJob train  0 of 0 ready  Failed  worker failures 0")},
	} {
		t.Run(name, func(t *testing.T) {
			within := t.Context()
			if tc.film.paused != nil {
				within = ctx
			}
			got, err := tc.film.watch(within, true)
			if !errors.Is(err, tc.err) {
				t.Errorf("error %v, want %v", err, tc.err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The watch continues while an API server restarts or is overloaded.
func TestWatchReportsAnErrorOnceAndRetries(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	refused := errors.New("connection refused")
	for name, tc := range map[string]struct {
		interactive bool
		want        string
	}{
		"on a terminal": {true, last("13:00:00  ElasticJob train  0 of 0 ready  Training  worker failures 0") +
			"13:00:01  error: connection refused; retrying\n" +
			last("13:00:03  ElasticJob train  0 of 0 ready  Training  worker failures 0") +
			"13:00:04  error: connection refused; retrying\n" +
			last("13:00:05  ElasticJob train  0 of 0 ready  Finished  worker failures 0")},
		"elsewhere": {false, `13:00:00  ElasticJob train  0 of 0 ready  Training  worker failures 0
13:00:01  error: connection refused; retrying
13:00:03  ElasticJob train  0 of 0 ready  Training  worker failures 0
13:00:04  error: connection refused; retrying
13:00:05  ElasticJob train  0 of 0 ready  Finished  worker failures 0
`},
	} {
		t.Run(name, func(t *testing.T) {
			f := &film{
				pictures: []*unstructured.Unstructured{picture("Running", ""), picture("Running", ""), picture("Succeeded", "")},
				troubles: map[int]error{2: refused, 3: refused, 5: refused},
			}
			got, err := f.watch(t.Context(), tc.interactive)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWatchEnds(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for name, tc := range map[string]struct {
		err  error
		ends bool
	}{
		"the workload is gone":                  {fmt.Errorf("%w: gone", read.ErrNotFound), true},
		"no permission to read its kind":        {fmt.Errorf("%w to get JobSet", read.ErrForbidden), true},
		"no permission to read other objects":   {fmt.Errorf("getting: %w", apierrors.NewForbidden(pods, "", nil)), true},
		"the credentials are rejected":          {fmt.Errorf("getting: %w", apierrors.NewUnauthorized("expired")), true},
		"the API server is overloaded":          {fmt.Errorf("getting: %w", apierrors.NewTooManyRequests("later", 1)), false},
		"the request timed out":                 {fmt.Errorf("getting: %w", apierrors.NewTimeoutError("etcd", 1)), false},
		"a single request reached its deadline": {context.DeadlineExceeded, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := &film{pictures: []*unstructured.Unstructured{picture("Running", ""), picture("Succeeded", "")}, troubles: map[int]error{2: tc.err}}
			if _, err := f.watch(t.Context(), false); (err != nil) != tc.ends || tc.ends && !errors.Is(err, tc.err) {
				t.Errorf("error %v; it should end: %t", err, tc.ends)
			}
		})
	}
}

func TestColorsOnTerminalsOnly(t *testing.T) {
	t.Setenv("NO_COLOR", "") // restored after the test
	if err := os.Unsetenv("NO_COLOR"); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		interactive bool
		want        bool
	}{"a terminal": {true, true}, "a file": {false, false}} {
		t.Run(name, func(t *testing.T) {
			got, err := life().watch(t.Context(), tc.interactive)
			if err != nil || bytes.Contains([]byte(got), []byte("\x1b[32mTraining\x1b[0m")) != tc.want {
				t.Errorf("colored should be %t (%v): %q", tc.want, err, got)
			}
		})
	}
}

package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-project/holdfast/cli/internal/read"
)

// film plays a sequence of workload states with a fake clock: each pause advances the time and ends immediately.
type film struct {
	pictures []*unstructured.Unstructured
	err      error // returned after the last state
	now      time.Time
	pauses   []time.Duration
	paused   func() // called during each pause
	asked    []string
	troubles map[int]error // errors to return instead of a state, keyed by read number
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
		return nil // never ready, so only the context ends the pause
	}
	c := make(chan time.Time, 1)
	c <- f.now
	return c
}

// watch runs the film and returns the output.
func (f *film) watch(ctx context.Context) (string, error) {
	f.now = time.Date(2026, 11, 22, 13, 0, 0, 0, time.UTC)
	var out bytes.Buffer
	c := &command{Terminal: Terminal{Out: &out, Err: &out, Now: func() time.Time { return f.now }, After: f.after}}
	err := c.watch(ctx, f, "team", "train")
	return out.String(), err
}

// picture returns a workload with one ElasticJob, because the state of an ElasticJob does not depend on pods.
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

// The watch resolves the name only once, because that takes several requests and the JobSet may be temporarily absent
// during a reset.
func TestWatchFindsTheRootOnce(t *testing.T) {
	f := life()
	if _, err := f.watch(t.Context()); err != nil {
		t.Fatal(err)
	}
	const root = "ElasticJob/train"
	if want := []string{"train", root, root, root, root, root}; !slices.Equal(f.asked, want) {
		t.Errorf("looked up as %q, want %q", f.asked, want)
	}
}

func TestWatchPrintsChanges(t *testing.T) {
	f := life()
	got, err := f.watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := `13:00:00  ElasticJob train  0 of 0 ready  Training  worker failures 0
13:00:02  ElasticJob train  0 of 0 ready  Recovering at recovery level 3, until 13:00:31 at the latest: a worker failed  worker failures 0
13:00:02  ElasticJob train  0 of 0 ready  Training  worker failures 0
13:00:03  ElasticJob train  0 of 0 ready  Finished  worker failures 0
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if want := []time.Duration{slowPoll, slowPoll, fastPoll, fastPoll, slowPoll}; !slices.Equal(f.pauses, want) {
		t.Errorf("pauses %v, want %v: more often during a recovery", f.pauses, want)
	}
}

func TestWatchIsInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	f := &film{pictures: []*unstructured.Unstructured{picture("Running", "")}, paused: interrupt}
	if _, err := f.watch(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

// The watch continues while an API server restarts or is overloaded.
func TestWatchReportsAnErrorOnceAndRetries(t *testing.T) {
	refused := errors.New("connection refused")
	f := &film{
		pictures: []*unstructured.Unstructured{picture("Running", ""), picture("Running", ""), picture("Succeeded", "")},
		troubles: map[int]error{2: refused, 3: refused, 5: refused},
	}
	got, err := f.watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := `13:00:00  ElasticJob train  0 of 0 ready  Training  worker failures 0
13:00:01  error: connection refused; retrying
13:00:03  ElasticJob train  0 of 0 ready  Training  worker failures 0
13:00:04  error: connection refused; retrying
13:00:05  ElasticJob train  0 of 0 ready  Finished  worker failures 0
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
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
			if _, err := f.watch(t.Context()); (err != nil) != tc.ends || tc.ends && !errors.Is(err, tc.err) {
				t.Errorf("error %v; it should end: %t", err, tc.ends)
			}
		})
	}
}

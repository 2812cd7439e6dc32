package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
)

// answers summarizes how long it takes to reset an AppWrapper after its Job fails. Both events are observed by a watch,
// so the time that the Job controller takes to detect the failure is not included.
type answers struct {
	Median float64 // seconds
	Last   float64
}

type watcher struct {
	jobs, appWrappers watch.Interface
}

// fromCache makes a watch start from the API server's cache. By default it starts from the latest state, but in a
// cluster without activity the API server may refuse to wait for that state.
var fromCache = &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}}

func (b *bench) watchAnswers(ctx context.Context) (*watcher, error) {
	jobs, err := b.client.Watch(ctx, &batchv1.JobList{}, client.InNamespace(namespace), fromCache)
	if err != nil {
		return nil, fmt.Errorf("watching Jobs: %w", err)
	}
	appWrappers, err := b.client.Watch(ctx, &v1beta2.AppWrapperList{}, client.InNamespace(namespace), fromCache)
	if err != nil {
		jobs.Stop()
		return nil, fmt.Errorf("watching AppWrappers: %w", err)
	}
	return &watcher{jobs, appWrappers}, nil
}

// wait waits until the given number of AppWrappers has been reset.
func (w *watcher) wait(ctx context.Context, want int) (answers, error) {
	defer w.jobs.Stop()
	defer w.appWrappers.Stop()
	failed, reset := map[string]time.Time{}, map[string]time.Time{}
	patient := time.After(patience)
	for len(failed) < want || len(reset) < want {
		select {
		case <-ctx.Done():
			return answers{}, ctx.Err()
		case <-patient:
			return answers{}, fmt.Errorf("%d Jobs have failed and %d AppWrappers are reset after %s", len(failed), len(reset), patience)
		case e, open := <-w.jobs.ResultChan():
			if err := broken("Jobs", e, open); err != nil {
				return answers{}, err
			}
			if job, ok := e.Object.(*batchv1.Job); ok && failing(job) {
				first(failed, job.Name)
			}
		case e, open := <-w.appWrappers.ResultChan():
			if err := broken("AppWrappers", e, open); err != nil {
				return answers{}, err
			}
			if aw, ok := e.Object.(*v1beta2.AppWrapper); ok && aw.Status.Retries == 1 {
				first(reset, aw.Name)
			}
		}
	}
	var took []float64
	for name, at := range failed {
		took = append(took, max(0, reset[name].Sub(at).Seconds())) // not negative: either watch may be ahead of the other
	}
	slices.Sort(took)
	return answers{Median: took[len(took)/2], Last: took[len(took)-1]}, nil
}

// broken returns an error if a watch has ended or has reported an error. Such a watch delivers no more events.
func broken(kind string, e watch.Event, open bool) error {
	switch {
	case !open:
		return fmt.Errorf("the watch of %s has ended", kind)
	case e.Type == watch.Error:
		return fmt.Errorf("the watch of %s: %w", kind, apierrors.FromObject(e.Object))
	}
	return nil
}

func first(seen map[string]time.Time, name string) {
	if _, known := seen[name]; !known {
		seen[name] = time.Now()
	}
}

// failing reports whether a Job has failed. Each Job is named after its AppWrapper.
func failing(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobFailureTarget || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
}

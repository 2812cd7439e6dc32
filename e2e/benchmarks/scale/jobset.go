package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/benchmarks/scale/results"
	"github.com/holdfast-project/holdfast/e2e/fakes/agent"
	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

const (
	entry    = "workers"
	budget   = 1000
	interval = 20 * time.Millisecond
	// patience limits the steps that involve all workers.
	patience = 25 * time.Minute
)

func inPlace(way string) bool {
	return way == results.CRI || way == results.Exec || way == results.Spares
}

// spares is the number of spares in a JobSet that has any.
const spares = 2

// jobSet returns a JobSet with one replicatedJob and the given numbers of Jobs and workers. If it is exclusive, each Job has its own node pool.
func jobSet(name, way string, jobs, pods int, exclusive bool) *v1alpha2.JobSet {
	spec := batchv1.JobSpec{
		Parallelism: ptr.To(int32(pods)), Completions: ptr.To(int32(pods)), CompletionMode: ptr.To(batchv1.IndexedCompletion),
		BackoffLimit: ptr.To[int32](0),
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyNever,
			TerminationGracePeriodSeconds: ptr.To[int64](1),
			NodeSelector:                  map[string]string{kubelet.TypeLabel: kubelet.Type},
			Tolerations:                   []corev1.Toleration{kubelet.Toleration()},
			Containers: []corev1.Container{{
				Name: "worker", Image: "worker", Command: []string{"train"},
				Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{kubelet.GPU: resource.MustParse("8")}},
			}},
		}},
	}
	js := &v1alpha2.JobSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Annotations: map[string]string{}},
		Spec: v1alpha2.JobSetSpec{
			FailurePolicy:  &v1alpha2.FailurePolicy{MaxRestarts: budget},
			ReplicatedJobs: []v1alpha2.ReplicatedJob{{Name: entry, Replicas: int32(jobs), Template: batchv1.JobTemplateSpec{Spec: spec}}},
		},
	}
	if exclusive {
		js.Annotations[v1alpha2.ExclusiveKey] = kubelet.PoolLabel
	}
	switch way {
	case results.Blocking:
		js.Spec.FailurePolicy.RestartStrategy = v1alpha2.BlockingRecreate
	case results.CRI, results.Exec, results.Spares:
		js.Annotations[v1alpha2.InPlaceTimeoutKey] = "5m"
		js.Annotations[v1alpha2.MaxRestartDelayKey] = "0s" // the delay between repeated failures is not part of the measurement
		js.Annotations[v1alpha2.InPlaceDriverKey] = map[string]string{results.CRI: "cri", results.Exec: "exec", results.Spares: "exec"}[way]
		template := &js.Spec.ReplicatedJobs[0].Template.Spec
		template.BackoffLimit, template.Template.Spec.RestartPolicy = nil, ""
	}
	if way == results.Upstream {
		framework.PublishedStrategy(js)
		agent.UpstreamPod(&js.Spec.ReplicatedJobs[0].Template.Spec.Template)
	}
	if way == results.Spares {
		js.Annotations[v1alpha2.SparesKey] = fmt.Sprint(spares)
	}
	return js
}

// group is a running JobSet.
type group struct {
	*benchmark
	way  string
	js   *v1alpha2.JobSet
	size int
	// round is the number of in-place restarts, as last observed.
	round int64
	// restarts counts the deleted pods, each of which is replaced.
	restarts int32
	// ended returns when the pod that was deleted in the current failure ended. It is nil if no pod was deleted.
	ended func() time.Time
}

// start creates a JobSet and returns once all its workers run, and are in sync if the way restarts in place.
func (b *benchmark) start(ctx context.Context, name, way string, jobs, pods int, exclusive bool) (*group, error) {
	g := &group{benchmark: b, way: way, js: jobSet(name, way, jobs, pods, exclusive), size: jobs * pods}
	watch := b.agents.Watch(name)
	// The webhooks of a manager that has just started may not respond immediately.
	err := until(ctx, "the JobSet is created", time.Second, func(ctx context.Context) error { return b.env.Client.Create(ctx, g.js) })
	if err != nil {
		return nil, err
	}
	if _, err := g.awaitUp(ctx, watch); err != nil {
		return g, fmt.Errorf("starting %d workers: %w", g.size, err)
	}
	return g, g.awaitQuiet(ctx)
}

// awaitUp returns once each worker's program has started since the stopwatch was started and, with in-place restarts,
// the group is running.
func (g *group) awaitUp(ctx context.Context, watch *agent.Stopwatch) (last time.Time, err error) {
	err = until(ctx, "all workers run", interval, func(ctx context.Context) error {
		n := 0
		if n, last = watch.Started(); n < g.size {
			return fmt.Errorf("%d of %d have started", n, g.size)
		}
		if !inPlace(g.way) {
			return nil
		}
		sum, err := g.env.Summary(ctx, string(g.js.UID))
		if err != nil {
			return err
		}
		if sum.Phase != coordination.Running || sum.Generation != 1 {
			return fmt.Errorf("the group is %s in generation %d, %d of %d joined", sum.Phase, sum.Generation, sum.Joined, sum.Size)
		}
		g.round = sum.Round
		return nil
	})
	return last, err
}

// awaitQuiet returns once all kubelets have reported, all spares are waiting, and the JobSet's status is up to date. The work after one
// failure therefore does not delay the next measurement.
func (g *group) awaitQuiet(ctx context.Context) error {
	jobs := g.js.Spec.ReplicatedJobs[0].Replicas
	err := until(ctx, "the JobSet is ready", 200*time.Millisecond, func(ctx context.Context) error {
		if n := g.simulation.Unreported(); n > 0 {
			return fmt.Errorf("%d pods have changes that are not reported to the API server", n)
		}
		now, err := g.env.JobSet(ctx, namespace, g.js.Name)
		if err != nil {
			return err
		}
		if n := g.agents.Waiting(g.js.Name); g.way == results.Spares && n != spares {
			return fmt.Errorf("%d spares wait", n)
		}
		g.restarts = now.Status.Restarts
		for _, s := range now.Status.ReplicatedJobsStatus {
			if s.Ready == jobs {
				return nil
			}
		}
		return errors.New("not all Jobs are ready")
	})
	if err == nil {
		err = framework.Pause(ctx, rest)
	}
	return err
}

// rest gives all programs time to finish the work after a failure.
const rest = 3 * time.Second

// remove deletes all JobSets and returns once their pods are gone. The deletion of hundreds may take an API server
// longer than the timeout of a request, so it is repeated while any exist.
func (b *benchmark) remove(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	began := time.Now()
	err := until(ctx, "all pods are gone", time.Second, func(ctx context.Context) error {
		pods := &metav1.PartialObjectMetadataList{}
		pods.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
		var sets v1alpha2.JobSetList
		if err := errors.Join(b.env.Client.List(ctx, pods, client.InNamespace(namespace), cached()), b.env.Client.List(ctx, &sets, client.InNamespace(namespace))); err != nil {
			return err
		}
		if slices.ContainsFunc(sets.Items, func(js v1alpha2.JobSet) bool { return js.DeletionTimestamp.IsZero() }) {
			err := b.env.Client.DeleteAllOf(ctx, &v1alpha2.JobSet{}, client.InNamespace(namespace), client.PropagationPolicy(metav1.DeletePropagationBackground))
			return errors.Join(err, errors.New("their deletion has just been requested"))
		}
		if n := len(pods.Items) + len(sets.Items); n > 0 {
			return fmt.Errorf("%d pods and JobSets are left", n)
		}
		return nil
	})
	if took := time.Since(began); took > time.Second {
		fmt.Fprintf(os.Stderr, "removed in %.0f s\n", took.Seconds())
	}
	return err
}

// cached returns a list option that makes the API server respond from its cache, which uses little CPU.
func cached() client.ListOption {
	return &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}}
}

func until(ctx context.Context, what string, every time.Duration, ask func(context.Context) error) error {
	return framework.UntilEvery(ctx, what, every, patience, ask)
}

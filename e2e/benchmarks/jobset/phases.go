package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/framework/footprint"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

const (
	// patience limits one phase.
	patience = 6 * time.Minute
	// interval is how often a phase is checked for completion. It determines the precision of the measured times.
	interval = 200 * time.Millisecond
	// rest is the pause before and after a phase, in which the manager finishes work that the phase does not wait for.
	// It is included in the manager's CPU and calls.
	rest = time.Second
)

// benchmark is one run.
type benchmark struct {
	env        *framework.Environment
	simulation *kubelet.Nodes
	options    options
	results    results
}

// play starts the manager and measures the shape with it.
func (b *benchmark) play(ctx context.Context, name string, s shape, round int) error {
	defer func() { _ = stopManager(context.WithoutCancel(ctx), b.env) }()
	m, err := startManager(ctx, b.env, name)
	if err != nil {
		return err
	}
	stage := &stage{benchmark: b, shape: s, namespace: fmt.Sprintf("bench-%s-%dx%d-%d", name, s.JobSets, s.Jobs, round)}
	if err := b.env.Namespace(ctx, stage.namespace); err != nil {
		return err
	}
	for _, p := range stage.phases() {
		start := time.Now()
		used, err := b.measure(ctx, m, s, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		b.results = append(b.results, result{Manager: name, Shape: s, Round: round, Phase: p.name, Usage: used, span: span{start, time.Now()}})
		fmt.Fprintf(os.Stderr, "%-10s %-8s %-8s %6.1f s  cpu %6.2f s  %5.0f MiB  %6.0f calls  %6.0f webhook calls  %6.0f reconciles\n",
			name, s, p.name, used.Seconds, used.CPU, used.MemoryMiB, used.calls(), used.Webhooks, used.Reconciles)
	}
	return nil
}

// phase is one step. begin starts it, and done returns nil once it has ended.
type phase struct {
	name  string
	begin func(context.Context) error
	done  func(context.Context) error
}

func (b *benchmark) measure(ctx context.Context, m *manager, s shape, p phase) (usage, error) {
	if err := footprint.Forget(m.pid); err != nil {
		return usage{}, err
	}
	before, err := m.scrape(ctx)
	if err != nil {
		return usage{}, err
	}
	stopProfile := b.profile(m, s, p)
	start := time.Now()
	if err := p.begin(ctx); err != nil {
		return usage{}, err
	}
	if err := until(ctx, p.done); err != nil {
		return usage{}, err
	}
	took := time.Since(start)
	stopProfile()
	time.Sleep(rest)
	after, err := m.scrape(ctx)
	if err != nil {
		return usage{}, err
	}
	used := after.since(before)
	used.Seconds = took.Seconds()
	used.MemoryMiB, err = footprint.Peak(m.pid)
	return used, err
}

func until(ctx context.Context, done func(context.Context) error) error {
	return framework.UntilEvery(ctx, "the phase has ended", interval, patience, done)
}

// stage runs a shape in a namespace of its own.
type stage struct {
	*benchmark
	shape     shape
	namespace string
}

func (s *stage) phases() []phase {
	nothing := func(context.Context) error { return nil }
	return []phase{
		{"create", s.create, s.all("ready", s.ready)},
		{"fail", s.fail, s.all("restarting", func(js *v1alpha2.JobSet) bool { return js.Status.Restarts == 1 })},
		{"restart", nothing, s.all("ready again", s.ready)},
		{"suspend", s.suspend(true), s.all("suspended", s.suspended)},
		{"resume", s.suspend(false), s.all("resumed", s.ready)},
		{"delete", s.delete, s.gone},
	}
}

func (s *stage) create(ctx context.Context) error {
	return framework.Each(s.shape.JobSets, func(i int) error { return s.env.Client.Create(ctx, s.jobSet(i)) })
}

// jobSet returns a JobSet with Jobs of one pod each, one of which will fail. The pods sleep on simulated nodes.
func (s *stage) jobSet(i int) *v1alpha2.JobSet {
	template := batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{
		Parallelism: ptr.To[int32](1), Completions: ptr.To[int32](1), BackoffLimit: ptr.To[int32](0),
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyNever,
			TerminationGracePeriodSeconds: ptr.To[int64](0),
			NodeSelector:                  map[string]string{kubelet.TypeLabel: kubelet.Type},
			Tolerations:                   []corev1.Toleration{kubelet.Toleration()},
			Containers:                    []corev1.Container{{Name: "worker", Image: "worker", Command: []string{"train"}}},
		}},
	}}
	return &v1alpha2.JobSet{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("train-%d", i), Namespace: s.namespace},
		Spec: v1alpha2.JobSetSpec{
			FailurePolicy:  &v1alpha2.FailurePolicy{MaxRestarts: 3},
			ReplicatedJobs: []v1alpha2.ReplicatedJob{{Name: "w", Replicas: int32(s.shape.Jobs), Template: template}},
		},
	}
}

// fail makes one pod of each JobSet exit.
func (s *stage) fail(ctx context.Context) error {
	var pods corev1.PodList
	if err := s.env.Client.List(ctx, &pods, client.InNamespace(s.namespace), client.MatchingLabels{v1alpha2.JobIndexKey: "0"}); err != nil {
		return err
	}
	if len(pods.Items) != s.shape.JobSets {
		return fmt.Errorf("found %d pods that can fail, want %d", len(pods.Items), s.shape.JobSets)
	}
	var errs []error
	for _, pod := range pods.Items {
		errs = append(errs, s.simulation.Exit(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, "", 1))
	}
	return errors.Join(errs...)
}

func (s *stage) suspend(to bool) func(context.Context) error {
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"suspend":%t}}`, to))
	return func(ctx context.Context) error {
		return framework.Each(s.shape.JobSets, func(i int) error {
			return s.env.Client.Patch(ctx, &v1alpha2.JobSet{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("train-%d", i), Namespace: s.namespace}}, patch)
		})
	}
}

func (s *stage) delete(ctx context.Context) error {
	return s.env.Client.DeleteAllOf(ctx, &v1alpha2.JobSet{}, client.InNamespace(s.namespace), client.PropagationPolicy(metav1.DeletePropagationBackground))
}

// all returns a check that passes if `is` returns true for every JobSet.
func (s *stage) all(what string, is func(*v1alpha2.JobSet) bool) func(context.Context) error {
	return func(ctx context.Context) error {
		var list v1alpha2.JobSetList
		if err := s.env.Client.List(ctx, &list, client.InNamespace(s.namespace), cached()); err != nil {
			return err
		}
		n := 0
		for i := range list.Items {
			if is(&list.Items[i]) {
				n++
			}
		}
		if n != s.shape.JobSets {
			return fmt.Errorf("%d of %d JobSets are %s", n, s.shape.JobSets, what)
		}
		return nil
	}
}

// cached returns a list option that makes the API server respond from its cache, which uses little CPU.
func cached() client.ListOption {
	return &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}}
}

func (s *stage) ready(js *v1alpha2.JobSet) bool {
	return sum(js, func(c v1alpha2.ReplicatedJobStatus) int32 { return c.Ready }) == s.shape.Jobs && !hasTrue(js, v1alpha2.JobSetSuspended)
}

func (s *stage) suspended(js *v1alpha2.JobSet) bool {
	return sum(js, func(c v1alpha2.ReplicatedJobStatus) int32 { return c.Suspended }) == s.shape.Jobs &&
		sum(js, func(c v1alpha2.ReplicatedJobStatus) int32 { return c.Active }) == 0 && hasTrue(js, v1alpha2.JobSetSuspended)
}

func hasTrue(js *v1alpha2.JobSet, kind v1alpha2.JobSetConditionType) bool {
	return meta.IsStatusConditionTrue(js.Status.Conditions, string(kind))
}

func sum(js *v1alpha2.JobSet, of func(v1alpha2.ReplicatedJobStatus) int32) int {
	n := 0
	for _, c := range js.Status.ReplicatedJobsStatus {
		n += int(of(c))
	}
	return n
}

// gone returns an error while any Jobs or pods are left.
func (s *stage) gone(ctx context.Context) error {
	for _, list := range []client.ObjectList{&batchv1.JobList{}, &corev1.PodList{}} {
		if err := s.env.Client.List(ctx, list, client.InNamespace(s.namespace), client.Limit(1)); err != nil {
			return err
		}
		if meta.LenList(list) > 0 {
			return fmt.Errorf("%T is not empty", list)
		}
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

const (
	namespace      = "bench-elastic"
	name           = "train"
	metricsAddress = "127.0.0.1:18086"
	patience       = 8 * time.Minute
)

type bench struct {
	options
	env        *framework.Environment
	client     client.Client
	simulation *kubelet.Nodes
}

// phase is one phase of the benchmark.
type phase struct {
	Name    string
	Seconds float64
	Workers int // number that were created or replaced
	Usage   framework.Usage
}

func (b *bench) measure(ctx context.Context) ([]phase, error) {
	var phases []phase
	for _, step := range []struct {
		name    string
		workers int
		do      func(context.Context) error
	}{
		{fmt.Sprintf("%d workers, from creation until all are running", b.workers), b.workers, b.start},
		{"idle for 30 s", 0, b.idle},
		{fmt.Sprintf("%d fail simultaneously, until all are running again", b.losses), b.losses, b.fail},
		{fmt.Sprintf("%d are deleted simultaneously, until all are running again", b.losses), b.losses, b.lose},
		{fmt.Sprintf("scaled down by %d", b.losses), b.losses, func(ctx context.Context) error { return b.scale(ctx, b.workers-b.losses) }},
	} {
		before, err := framework.UsageAt(ctx, metricsAddress)
		if err != nil {
			return nil, err
		}
		begin := time.Now()
		if err := step.do(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
		p := phase{Name: step.name, Workers: step.workers, Seconds: time.Since(begin).Seconds()}
		after, err := framework.UsageAt(ctx, metricsAddress)
		if err != nil {
			return nil, err
		}
		p.Usage = after.Since(before)
		phases = append(phases, p)
	}
	return phases, nil
}

func (b *bench) job() *v1alpha1.ElasticJob {
	minimum, most := int32(1), int32(b.workers)
	return &v1alpha1.ElasticJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.ElasticJobSpec{
			RdzvEndpoint: "none:2379", MinReplicas: &minimum, MaxReplicas: &most,
			ReplicaSpecs: v1alpha1.ReplicaSpecs{Worker: v1alpha1.ReplicaSpec{
				Replicas: &most,
				Template: v1alpha1.PodTemplate{PodTemplateSpec: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
					NodeSelector: map[string]string{"type": "simulated"}, Tolerations: []corev1.Toleration{{Key: "simulated", Operator: corev1.TolerationOpExists}},
					Containers: []corev1.Container{{Name: "worker", Image: "none"}},
				}}},
			}},
		},
	}
}

func (b *bench) start(ctx context.Context) error {
	if err := b.client.Create(ctx, b.job()); err != nil {
		return err
	}
	return b.await(ctx, func(s *v1alpha1.ElasticJobStatus) bool { return int(s.ReplicaStatuses.Worker.Active) == b.workers })
}

func (b *bench) idle(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(30 * time.Second):
		return nil
	}
}

func worker(i int) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: fmt.Sprintf("%s-worker-%d", name, i)}
}

// fail makes the programs of the first workers exit with 1.
func (b *bench) fail(ctx context.Context) error {
	for i := range b.losses {
		if err := b.simulation.Exit(worker(i), "", 1); err != nil {
			return err
		}
	}
	return b.await(ctx, func(s *v1alpha1.ElasticJobStatus) bool {
		return int(s.Restarts) == b.losses && int(s.ReplicaStatuses.Worker.Active) == b.workers
	})
}

// lose deletes pods of other workers, as a drain would.
func (b *bench) lose(ctx context.Context) error {
	err := framework.Each(b.losses, func(i int) error {
		key := worker(b.losses + i)
		return b.client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
	})
	if err != nil {
		return err
	}
	return b.await(ctx, func(s *v1alpha1.ElasticJobStatus) bool {
		return int(s.Disruptions) == b.losses && int(s.ReplicaStatuses.Worker.Active) == b.workers
	})
}

func (b *bench) scale(ctx context.Context, to int) error {
	job := &v1alpha1.ElasticJob{}
	if err := b.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, job); err != nil {
		return err
	}
	before := job.DeepCopy()
	n := int32(to)
	job.Spec.ReplicaSpecs.Worker.Replicas = &n
	if err := b.client.Patch(ctx, job, client.MergeFrom(before)); err != nil {
		return err
	}
	return b.await(ctx, func(s *v1alpha1.ElasticJobStatus) bool { return int(s.Replicas) == to })
}

// await waits until `is` returns true for the status.
func (b *bench) await(ctx context.Context, is func(*v1alpha1.ElasticJobStatus) bool) error {
	return framework.UntilEvery(ctx, "the status of the ElasticJob is as expected", 100*time.Millisecond, patience, func(ctx context.Context) error {
		job := &v1alpha1.ElasticJob{}
		if err := b.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, job); err != nil {
			return err
		}
		if !is(&job.Status) {
			return fmt.Errorf("%s, %s", job.Status.State, job.Status.Message)
		}
		return nil
	})
}

// clean removes everything except for the CRD.
func (b *bench) clean() error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	err := b.client.DeleteAllOf(ctx, &v1alpha1.ElasticJob{}, client.InNamespace(namespace))
	gone := framework.Until(ctx, "all pods are gone", func(ctx context.Context) error {
		var list corev1.PodList
		if err := b.client.List(ctx, &list, client.InNamespace(namespace)); err != nil || len(list.Items) > 0 {
			return fmt.Errorf("%d are left (%v)", len(list.Items), err)
		}
		return nil
	})
	return errors.Join(err, gone, b.simulation.Remove(ctx), b.env.Cluster.StopProgram(ctx, manager))
}

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
	"github.com/holdfast-project/holdfast/e2e/framework"
)

const (
	namespace      = "bench-appwrapper"
	metricsAddress = "127.0.0.1:18084"
	patience       = 8 * time.Minute
	interval       = 500 * time.Millisecond
)

type bench struct {
	options
	env        *framework.Environment
	client     client.WithWatch
	simulation *kubelet.Nodes
}

// phase is one phase of the benchmark.
type phase struct {
	Name    string
	Seconds float64
	// Answers summarizes the resets after failed Jobs. It is zero in other phases.
	Answers answers
	Usage   framework.Usage // CPU and calls during the phase, RSS at its end
}

func (b *bench) measure(ctx context.Context) ([]phase, error) {
	var phases []phase
	for _, step := range []struct {
		name string
		do   func(context.Context, *phase) error
	}{
		{fmt.Sprintf("%d AppWrappers of %d pods, from creation until all are running", b.workloads, b.pods), b.startAll},
		{"idle for 30 s", b.idle},
		{fmt.Sprintf("%d fail simultaneously, until all are running again", b.failures), b.failSome},
	} {
		before, err := framework.UsageAt(ctx, metricsAddress)
		if err != nil {
			return nil, err
		}
		p, begin := phase{Name: step.name}, time.Now()
		if err := step.do(ctx, &p); err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
		p.Seconds = time.Since(begin).Seconds()
		after, err := framework.UsageAt(ctx, metricsAddress)
		if err != nil {
			return nil, err
		}
		p.Usage = after.Since(before)
		phases = append(phases, p)
	}
	return phases, nil
}

func name(i int) string { return fmt.Sprintf("w-%04d", i) }

const job = `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":%q},"spec":{"parallelism":%d,"completions":%d,"backoffLimit":0,"template":{"spec":
{"restartPolicy":"Never","nodeSelector":{"type":"simulated"},"tolerations":[{"key":"simulated","operator":"Exists"}],"containers":[{"name":"worker","image":"none"}]}}}}`

func (b *bench) startAll(ctx context.Context, _ *phase) error {
	errs := make(chan error, b.workloads)
	tokens := make(chan struct{}, 16)
	for i := range b.workloads {
		tokens <- struct{}{}
		go func() {
			defer func() { <-tokens }()
			errs <- b.client.Create(ctx, &v1beta2.AppWrapper{
				ObjectMeta: metav1.ObjectMeta{Name: name(i), Namespace: namespace, Annotations: map[string]string{v1beta2.RetryPausePeriodKey: "0s"}},
				Spec: v1beta2.AppWrapperSpec{Components: []v1beta2.AppWrapperComponent{{
					Template: runtime.RawExtension{Raw: []byte(strings.ReplaceAll(fmt.Sprintf(job, name(i), b.pods, b.pods), "\n", ""))},
				}}},
			})
		}()
	}
	for range b.workloads {
		if err := <-errs; err != nil {
			return err
		}
	}
	return b.await(ctx, namespace, b.workloads, interval, ready)
}

func (b *bench) idle(ctx context.Context, _ *phase) error {
	return framework.Pause(ctx, 30*time.Second)
}

// failSome makes one pod in each of the first few workloads exit with code 1, so that its Job fails.
func (b *bench) failSome(ctx context.Context, p *phase) error {
	w, err := b.watchAnswers(ctx)
	if err != nil {
		return err
	}
	for i := range b.failures {
		var list corev1.PodList
		if err := b.client.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{v1beta2.AppWrapperLabel: name(i)}, client.Limit(1)); err != nil {
			return err
		}
		if len(list.Items) == 0 {
			return fmt.Errorf("%s has no pods", name(i))
		}
		pod := types.NamespacedName{Namespace: namespace, Name: list.Items[0].Name}
		if err := b.simulation.Exit(pod, "", 1); err != nil {
			return err
		}
	}
	if p.Answers, err = w.wait(ctx, b.failures); err != nil {
		return err
	}
	return b.await(ctx, namespace, b.failures, interval, func(aw *v1beta2.AppWrapper) bool { return aw.Status.Retries == 1 && ready(aw) })
}

func ready(aw *v1beta2.AppWrapper) bool {
	return aw.Status.Phase == v1beta2.Running && meta.IsStatusConditionTrue(aw.Status.Conditions, string(v1beta2.PodsReady))
}

// await lists the AppWrappers of a namespace at regular intervals until `is` returns true for at least the wanted number of them.
func (b *bench) await(ctx context.Context, namespace string, want int, every time.Duration, is func(*v1beta2.AppWrapper) bool) error {
	return framework.UntilEvery(ctx, "the AppWrappers are as expected", every, patience, func(ctx context.Context) error {
		var list v1beta2.AppWrapperList
		if err := b.client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return err
		}
		got := 0
		for i := range list.Items {
			if is(&list.Items[i]) {
				got++
			}
		}
		if got < want {
			return fmt.Errorf("%d of %d", got, want)
		}
		return nil
	})
}

// clean removes everything except for the CRD.
func (b *bench) clean() error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	err := b.client.DeleteAllOf(ctx, &v1beta2.AppWrapper{}, client.InNamespace(namespace))
	gone := framework.Until(ctx, "all AppWrappers are gone", func(ctx context.Context) error {
		var list v1beta2.AppWrapperList
		if err := b.client.List(ctx, &list, client.InNamespace(namespace)); err != nil || len(list.Items) > 0 {
			return fmt.Errorf("%d AppWrappers are left (%v)", len(list.Items), err)
		}
		return nil
	})
	return joined(err, gone, b.simulation.Remove(ctx), b.env.Cluster.StopProgram(ctx, manager))
}

func joined(errs ...error) error { return errors.Join(errs...) }

//go:build envtest

package app

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

// BenchmarkMemory reports the peak resident memory of this process while the manager fills its caches. The garbage collector's memory limit
// is the same as in the container. Run it with -benchtime 1x.
func BenchmarkMemory(b *testing.B) {
	for _, c := range []struct{ pods, limitMiB int }{{10_000, 256}, {50_000, 512}} {
		b.Run(fmt.Sprint("pods=", c.pods), func(b *testing.B) {
			admin, err := client.New(cluster.Config, client.Options{Scheme: bootstrap.NewScheme()})
			if err != nil {
				b.Fatal(err)
			}
			namespace := fmt.Sprint("memory-", c.pods)
			if err := createPods(b.Context(), admin, namespace, c.pods); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				b.ReportMetric(peakMiB(b, namespace, c.limitMiB), "MiB")
			}
		})
	}
}

// createPods creates pods of workloads that request moves, a hundred pods per workload.
func createPods(ctx context.Context, c client.Client, namespace string, n int) error {
	if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return err
	}
	if err := c.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: namespace}}); err != nil {
		return err
	}
	const each, writers = 100, 32
	var wait sync.WaitGroup
	errs, tokens := make(chan error, n/each), make(chan struct{}, writers)
	for i := range n / each {
		wait.Add(1)
		tokens <- struct{}{}
		go func() {
			defer func() { <-tokens; wait.Done() }()
			errs <- createWorkload(ctx, c, namespace, fmt.Sprint("w", i), each)
		}()
	}
	wait.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func createWorkload(ctx context.Context, c client.Client, namespace, name string, pods int) error {
	labels := map[string]string{"app": name, "pod-template-hash": "5d4f8c7b9"}
	template := corev1.PodSpec{Containers: []corev1.Container{{Name: "worker", Image: "registry.example/team/worker:v1"}}}
	owner := &corev1.ReplicationController{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Annotations: map[string]string{memory.RetriesAnnotation: "3"}},
		Spec: corev1.ReplicationControllerSpec{
			Selector: labels, Template: &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: template},
		},
	}
	if err := c.Create(ctx, owner); err != nil {
		return err
	}
	ref := *metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ReplicationController"))
	for i := range pods {
		var env []corev1.EnvVar
		for j := range 20 {
			env = append(env, corev1.EnvVar{Name: fmt.Sprint("VARIABLE_", j), Value: strings.Repeat("x", 40)})
		}
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("%s-%d", name, i), Namespace: namespace, OwnerReferences: []metav1.OwnerReference{ref},
				Labels: labels,
			},
			Spec: corev1.PodSpec{NodeName: fmt.Sprint("node-", i), Containers: []corev1.Container{{Name: "worker", Image: "registry.example/team/worker:v1", Env: env}}},
		}
		if err := c.Create(ctx, pod); err != nil {
			return err
		}
	}
	return nil
}

// peakMiB starts a manager for one namespace and waits until its caches have synced.
func peakMiB(b *testing.B, namespace string, limitMiB int) float64 {
	b.Helper()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(limitMiB) << 20))
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // resets the peak
		b.Fatal(err)
	}
	o := NewOptions()
	o.Registry, o.Webhooks, o.Metrics.Address, o.Health.Address = prometheus.NewRegistry(), false, "0", "0"
	o.Rescheduling.Namespaces = []string{namespace}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- o.Run(ctx, cluster.Config) }()
	time.Sleep(time.Minute) // the controller needs about 20 s for the queue of 50,000 pods; the peak occurs in the first seconds
	cancel()
	if err := <-ended; err != nil {
		b.Error(err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	for _, line := range bytes.Split(status, []byte("\n")) {
		if rest, found := bytes.CutPrefix(line, []byte("VmHWM:")); found {
			kib, err := strconv.Atoi(strings.Fields(string(rest))[0])
			if err != nil {
				b.Fatal(err)
			}
			return float64(kib) / 1024
		}
	}
	b.Fatal("the kernel reports no peak")
	return 0
}

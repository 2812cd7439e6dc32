//go:build e2e && e2e_all

package testbed

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/e2e/suites"
)

func TestKueueQueuesJobs(t *testing.T) {
	begin := time.Now()
	if err := cluster.Kueue(t.Context(), t.Output()); err != nil {
		t.Fatal(err)
	}
	t.Logf("Kueue runs after %.1f s", time.Since(begin).Seconds())
	t.Cleanup(func() {
		if err := cluster.StopKueue(context.Background()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { awaitNoObjects(t) })
	ns := namespace(t, "kueue")
	quota(t, ns)
	release, url := gate(t)

	create(t, ns, queued(t, ns, "first", url))
	until(t, "the first Job runs", func(ctx context.Context) error { return suspended(ctx, ns, "first", false) })
	create(t, ns, queued(t, ns, "second", url))
	until(t, "the second Job waits for quota", func(ctx context.Context) error {
		return pending(ctx, t, ns, "second")
	})
	if err := suspended(t.Context(), ns, "second", true); err != nil {
		t.Error("the second Job runs alongside the first:", err)
	}
	release()
	for _, name := range []string{"first", "second"} {
		until(t, "the "+name+" Job is complete", func(ctx context.Context) error {
			job, err := client.BatchV1().Jobs(ns).Get(ctx, name, metav1.GetOptions{})
			if err == nil && job.Status.CompletionTime == nil {
				err = fmt.Errorf("it has %d active and %d succeeded pods", job.Status.Active, job.Status.Succeeded)
			}
			return err
		})
	}
}

// gate starts a server on the host that responds with success only once it is released.
func gate(t *testing.T) (release func(), url string) {
	t.Helper()
	listener, err := net.Listen("tcp", cluster.HostAddress()+":0")
	if err != nil {
		t.Fatal(err)
	}
	var open atomic.Bool
	server := &httptest.Server{Listener: listener, Config: &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if !open.Load() {
				http.Error(w, "closed", http.StatusServiceUnavailable)
			}
		}),
	}}
	server.Start()
	t.Cleanup(server.Close)
	return func() { open.Store(true) }, server.URL
}

// share is the CPU request of each Job. It is small, because the host has few CPUs.
const share = "100m"

// queued returns a Job that requests its share from the queue, and completes when the gate opens.
func queued(t *testing.T, ns, name, url string) *batchv1.Job {
	pod := probe(t, "", name, "get", url)
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(share)}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns, Labels: map[string]string{"kueue.x-k8s.io/queue-name": "queue"}},
		Spec: batchv1.JobSpec{
			Suspend:      ptr.To(true),
			BackoffLimit: ptr.To[int32](5),
			Template:     corev1.PodTemplateSpec{Spec: pod.Spec},
		},
	}
}

func suspended(ctx context.Context, ns, name string, want bool) error {
	job, err := client.BatchV1().Jobs(ns).Get(ctx, name, metav1.GetOptions{})
	if err == nil && ptr.Deref(job.Spec.Suspend, false) != want {
		err = fmt.Errorf("suspend is %t", !want)
	}
	return err
}

func kinds(t *testing.T, resource string) dynamic.NamespaceableResourceInterface {
	t.Helper()
	config, err := cluster.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	d, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return d.Resource(schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: "v1beta2", Resource: resource})
}

// pending fails unless the Job's workload has been refused a quota reservation.
func pending(ctx context.Context, t *testing.T, ns, job string) error {
	list, err := kinds(t, "workloads").Namespace(ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, workload := range list.Items {
		if owners := workload.GetOwnerReferences(); len(owners) != 1 || owners[0].Name != job {
			continue
		}
		conditions, _, _ := unstructured.NestedSlice(workload.Object, "status", "conditions")
		for _, condition := range conditions {
			c := condition.(map[string]any)
			if c["type"] == "QuotaReserved" && c["status"] == "False" {
				return nil
			}
		}
		return fmt.Errorf("its conditions are %v", conditions)
	}
	return errors.New("it has no workload")
}

// quota creates a LocalQueue in the namespace and its ClusterQueue, which has room for one Job.
func quota(t *testing.T, ns string) {
	t.Helper()
	kind := map[string]dynamic.ResourceInterface{
		"ResourceFlavor": kinds(t, "resourceflavors"), "ClusterQueue": kinds(t, "clusterqueues"), "LocalQueue": kinds(t, "localqueues").Namespace(ns),
	}
	for _, object := range suites.QueueOf(ns, suites.Quota{Resource: "cpu", Most: share}) {
		in := kind[object.GetKind()]
		// The webhooks of a manager that has just started may not respond immediately.
		until(t, object.GetKind()+" is created", func(ctx context.Context) error {
			_, err := in.Create(ctx, object, metav1.CreateOptions{})
			return err
		})
		t.Cleanup(func() { _ = in.Delete(context.Background(), object.GetName(), metav1.DeleteOptions{}) })
	}
}

// awaitNoObjects returns once Kueue has removed its finalizers from all deleted objects.
func awaitNoObjects(t *testing.T) {
	t.Helper()
	for _, resource := range []string{"workloads", "clusterqueues", "resourceflavors"} {
		untilIn(context.Background(), t, "no "+resource+" are left", func(ctx context.Context) error {
			list, err := kinds(t, resource).List(ctx, metav1.ListOptions{})
			if err == nil && len(list.Items) > 0 {
				err = fmt.Errorf("%s is left", list.Items[0].GetName())
			}
			return err
		})
	}
}

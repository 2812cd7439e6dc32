//go:build e2e && e2e_all

package elastic

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/e2e/framework/torch"
	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

// Debian 13 lacks python-etcd, which the two backends need.
func TestAnEtcdOfTheUser(t *testing.T) { ownEtcd(t, v1alpha1.BackendEtcd) }

func TestAnEtcdV2OfTheUser(t *testing.T) { ownEtcd(t, v1alpha1.BackendEtcdV2) }

// ownEtcd trains with a rendezvous on an etcd 3.4 that the user runs.
func ownEtcd(test *testing.T, backend v1alpha1.RendezvousBackend) {
	t := newTraining(test, torch.Torch113)
	t.startEtcd()
	t.start("etcd:2379", backend, 3, 2, 4)
	t.changes()
}

// TestC10dOnAWorker trains with a rendezvous on a store in worker 0, which must not die.
func TestC10dOnAWorker(test *testing.T) {
	t := newTraining(test, torch.Torch113)
	t.start(worker(0)+":29400", v1alpha1.BackendC10d, 3, 2, 4)
	t.changes()
}

// changes tests what a training job survives without the operator's rendezvous server.
func (t *training) changes() {
	t.goesOn(3, "all workers have joined")
	t.killWorker(1)
	t.goesOn(3, "a worker was killed, but not its agent")
	t.deletePod(worker(2))
	t.goesOn(3, "a pod was deleted and replaced")
	t.scale(4)
	t.goesOn(4, "one more was requested")
	t.scale(2)
	t.goesOn(2, "two fewer were requested")
	t.finish()
}

// startEtcd runs an etcd as its users do, with the v2 API, which is off by default.
func (t *training) startEtcd() {
	t.Helper()
	ctx := context.Background()
	labels := map[string]string{"app": "etcd"}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "etcd", Namespace: t.namespace, Labels: labels},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "etcd", Image: torch.EtcdImage,
			Args: []string{"--enable-v2", "--data-dir=/tmp/etcd", "--unsafe-no-fsync", "--listen-client-urls=http://0.0.0.0:2379", "--advertise-client-urls=http://etcd:2379"},
		}}},
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "etcd", Namespace: t.namespace},
		Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 2379}}},
	}
	if err := k8s.Create(ctx, service); err != nil {
		t.Fatal(err)
	}
	if err := k8s.Create(ctx, pod); err != nil {
		t.Fatal(err)
	}
}

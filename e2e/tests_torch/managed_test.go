//go:build e2e

package tests_torch

import (
	"context"
	"fmt"
	"testing"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

// TestManagedC10d is the short path: what PyTorch's own images speak, at the operator's server.
func TestManagedC10d(t *testing.T) { managed(t, v1alpha1.BackendC10d) }

// managed plays a training with everything that happens to it, at the operator's own server.
func managed(test *testing.T, backend v1alpha1.RendezvousBackend) {
	t := newTraining(test)
	t.start("", backend, 3, 2, 4)
	t.goesOn(3, "they have met")
	t.await("the status says who has met", func(ctx context.Context) error {
		job, err := t.now(ctx)
		if err != nil {
			return err
		}
		if r := job.Status.Rendezvous; r == nil || r.Participants != 3 || r.Closed {
			return fmt.Errorf("it says %+v", r)
		}
		return nil
	})

	t.killWorker(1)
	t.goesOn(3, "a worker was killed, its agent was not")

	t.killContainer(worker(2), "worker")
	t.goesOn(3, "a worker's container was killed, another pod came")

	t.scale(4)
	t.goesOn(4, "one more was asked for")

	t.scale(2)
	t.goesOn(2, "two fewer were asked for")

	t.killContainer(name+"-rendezvous", "rendezvous")
	t.killWorker(0) // agents of etcd that do not ask just then would not notice
	t.goesOn(2, "the rendezvous server was killed")

	t.finish()
}

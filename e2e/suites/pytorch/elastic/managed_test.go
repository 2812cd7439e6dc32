//go:build e2e

package elastic

import (
	"context"
	"fmt"
	"testing"

	"github.com/holdfast-project/holdfast/e2e/framework/torch"
	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

// each runs a test with every version of torch.
func each(t *testing.T, play func(t *training)) {
	for _, v := range torch.Versions {
		t.Run("torch "+v.Name, func(test *testing.T) { play(newTraining(test, v)) })
	}
}

// TestManaged trains with a rendezvous on the operator's own server.
func TestManaged(t *testing.T) {
	each(t, func(t *training) {
		t.start("", "", 3, 2, 4)
		t.goesOn(3, "all workers have joined")
		t.await("the status shows the participants, and that the job is running", func(ctx context.Context) error {
			job, err := t.now(ctx)
			if err != nil {
				return err
			}
			if r := job.Status.Rendezvous; r == nil || r.Participants != 3 || !r.Complete || r.Closed || job.Status.State != v1alpha1.StateRunning {
				return fmt.Errorf("it is %s and says %+v", job.Status.State, r)
			}
			return nil
		})

		t.killWorker(1)
		t.goesOn(3, "a worker was killed, but not its agent")

		t.killContainer(worker(0), "worker")
		t.goesOn(3, "the container of rank 0 was killed and the pod replaced")

		t.deletePod(worker(0))
		t.goesOn(3, "the pod of rank 0 was deleted and replaced")

		t.killContainer(worker(1), "worker")
		t.goesOn(3, "a container was killed and the pod replaced")

		t.deletePod(worker(2))
		t.goesOn(3, "a pod was deleted and replaced")

		t.scale(4)
		t.goesOn(4, "one more was requested")

		t.scale(2)
		t.goesOn(2, "two fewer were requested")
		t.finish()
	})
}

// TestARendezvousServerIsKilled kills the rendezvous server. All workers end with it, and none is charged for that.
func TestARendezvousServerIsKilled(t *testing.T) {
	each(t, func(t *training) {
		t.start("", "", 3, 2, 4, func(j *v1alpha1.ElasticJob) { j.Spec.BackoffLimit = new(int32) })
		t.goesOn(3, "all workers have joined")
		t.killContainer(name+"-rendezvous", "rendezvous")
		t.await("each worker was disrupted and none failed", func(ctx context.Context) error {
			job, err := t.now(ctx)
			if err == nil && (job.Status.Restarts != 0 || job.Status.Disruptions < 3) {
				err = fmt.Errorf("%d failures and %d disruptions", job.Status.Restarts, job.Status.Disruptions)
			}
			return err
		})
		t.goesOn(3, "the rendezvous server was killed")
		t.finish()
	})
}

// TestRank0Leaves kills rank 0, which is not replaced. A worker that is added later gets the free index 0, so that its
// address sorts first.
func TestRank0Leaves(t *testing.T) {
	each(t, func(t *training) {
		t.start("", "", 3, 2, 4, func(j *v1alpha1.ElasticJob) { j.Spec.ReplicaSpecs.Worker.PermanentExitCodes = []int32{137} })
		t.goesOn(3, "all workers have joined")
		t.killContainer(worker(0), "worker")
		t.goesOn(2, "rank 0 was killed and not replaced")
		t.scale(2)
		t.awaitGone(worker(0))
		t.scale(3)
		t.goesOn(3, "one more was requested, whose address sorts first")
		t.isRank0(worker(0))
		t.finish()
	})
}

// TestAProgramThatFailsAtItsStart checks that such a failure shows in the status long before the job fails.
func TestAProgramThatFailsAtItsStart(t *testing.T) {
	each(t, func(t *training) {
		t.start("", "", 2, 2, 2, func(j *v1alpha1.ElasticJob) {
			c := &j.Spec.ReplicaSpecs.Worker.Template.Spec.Containers[0]
			c.Command = append(c.Command, "--no-such-argument")
		})
		t.await("the status counts restarts by the agents", func(ctx context.Context) error {
			job, err := t.now(ctx)
			if err == nil && (job.Status.Rendezvous == nil || job.Status.Rendezvous.Restarts < 3) {
				err = fmt.Errorf("it says %+v", job.Status.Rendezvous)
			}
			return err
		})
	})
}

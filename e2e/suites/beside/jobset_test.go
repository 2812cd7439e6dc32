//go:build e2e

package beside

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

func TestProcess(t *testing.T) {
	g, workers := start(t, nil)
	g.kill(first(workers))
	g.awaitCharged(1)
	g.samePods(workers)
	time.Sleep(30 * time.Second)
	g.kill(first(workers))
	g.awaitCharged(2)
	g.samePods(workers)
	g.untilEvent("InPlaceRestart")
	g.timeline("restart in place", "1 of 20", "2 of 20")
}

func TestPod(t *testing.T) {
	g, workers := start(t, func(js *v1alpha2.JobSet) {
		js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To[int64](1)
	})
	lost := first(workers)
	g.lose(lost)
	g.awaitCharged(1)
	g.samePods(workers, lost.ID)
}

// The group restarts without a leader, and the next leader counts the restart.
func TestOrchestrator(t *testing.T) {
	g, workers := start(t, nil)
	g.replaceOrchestrator(first(workers))
	g.awaitCharged(1)
	g.awaitSync("InSync")
	g.samePods(workers)
}

func TestBudget(t *testing.T) {
	g, workers := start(t, func(js *v1alpha2.JobSet) { js.Spec.FailurePolicy.MaxRestarts = 1 })
	g.kill(first(workers))
	g.awaitCharged(1)
	_, err := g.Signal(g.ctx, first(workers), unix.SIGKILL)
	g.must(err)
	g.untilFailed()
	g.untilNoPods()
}

// untilNoPods waits until the controller has deleted the Jobs.
func (g *group) untilNoPods() {
	g.Helper()
	g.must(framework.Until(g.ctx, "the controller has deleted the Jobs", func(ctx context.Context) error {
		pods, err := g.Pods(ctx, jobs, g.name)
		if err == nil && len(pods) > 0 {
			err = fmt.Errorf("%d pods still exist", len(pods))
		}
		return err
	}))
}

// A pod that cannot be scheduled keeps its group from restarting in time, so all Jobs are recreated.
func TestTimeout(t *testing.T) {
	g, workers := start(t, func(js *v1alpha2.JobSet) {
		js.Annotations[v1alpha2.InPlaceTimeoutKey] = "6s"
		js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To[int64](1)
	})
	g.timeOutJobs(workers)
}

// timeOutJobs deletes a pod whose replacement cannot be scheduled. It waits until the restart has timed out, which causes a
// recreation, and then until all workers are in new pods.
func (g *group) timeOutJobs(workers map[string]framework.Worker, how ...client.DeleteOption) {
	g.Helper()
	g.cordon(true)
	g.Cleanup(g.uncordon)
	_, err := g.DeletePod(g.ctx, first(workers), how...)
	g.must(err)
	g.awaitCharged(2) // the restart, and the recreation after it
	g.cordon(false)
	g.recreated(afterTimeout, workers, time.Now())
}

const afterTimeout = "a recreation after a timeout, measured from when a node is schedulable again"

func (g *group) cordon(on bool) {
	g.Helper()
	var nodes corev1.NodeList
	g.must(g.Client.List(g.ctx, &nodes))
	for i := range nodes.Items {
		node := nodes.Items[i].DeepCopy()
		node.Spec.Unschedulable = on
		g.must(g.Client.Patch(g.ctx, node, client.MergeFrom(&nodes.Items[i])))
	}
}

// uncordon makes the nodes schedulable again at the end of a test.
func (g *group) uncordon() {
	g.ctx = context.Background()
	g.cordon(false)
}

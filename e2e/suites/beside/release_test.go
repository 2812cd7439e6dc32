//go:build e2e

package beside

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/framework/helm"
)

// An upgrade replaces the orchestrator, including its webhook, while groups are running. They keep running, and failures during and after
// the upgrade restart them in place. Groups then have both pods with the earlier agent and pods that the later webhook has prepared.
func TestUpgrade(t *testing.T) {
	g, workers := start(t, nil)
	other := startPods(t, "any-upgrade", asking("20"))
	others := other.running()
	const image = "localhost/holdfast/holdfast-exec:next"
	g.must(g.LoadProgram(g.ctx, image, g.File("bin", "holdfast-exec")))
	next := values()
	next["logLevel"] = "debug"
	maps.Copy(next["injection"].(helm.Values), helm.Values{"execImage": helm.Image(image), "exitWithoutStoreAfter": "90s"})

	lost := others[other.slot(2)]
	g.upgrade(next, g.orchestrator(), func() {
		g.kill(first(workers))
		other.lose(lost)
	})
	g.awaitCharged(1)
	other.awaitCharged(1)
	now := other.running()[other.slot(2)]
	if pod := other.pod(now); pod.Spec.InitContainers[0].Image != image {
		t.Errorf("the pod that the later webhook has prepared has the agent %s", pod.Spec.InitContainers[0].Image)
	}
	g.kill(first(workers))
	g.awaitCharged(2)
	other.kill(now)
	other.awaitCharged(2)

	// The store is replaced too, and loses its data.
	next["valkey"].(helm.Values)["podAnnotations"] = helm.Values{"upgraded": "yes"}
	g.upgrade(next, g.component("valkey"), func() { g.kill(first(workers)) })
	g.awaitCharged(3)
	g.awaitSync("InSync")
	other.kill(others[other.slot(0)])
	other.awaitCharged(3)
	g.samePods(workers)
	other.samePods(others, lost.ID)
	g.must(release().Upgrade(g.ctx, values()))
}

// upgrade upgrades the release, and calls `during` as soon as the earlier pod is being deleted.
func (g *group) upgrade(values helm.Values, before *corev1.Pod, during func()) {
	g.Helper()
	done := make(chan error, 1)
	go func() { done <- release().Upgrade(g.ctx, values) }()
	g.must(framework.Until(g.ctx, before.Name+" is being replaced", func(ctx context.Context) error {
		err := g.Client.Get(ctx, client.ObjectKeyFromObject(before), before)
		if err == nil && before.DeletionTimestamp.IsZero() {
			err = fmt.Errorf("%s is not being deleted", before.Name)
		} else if apierrors.IsNotFound(err) {
			err = nil
		}
		return err
	}))
	during()
	g.must(<-done)
}

func (g *group) pod(w framework.Worker) *corev1.Pod {
	g.Helper()
	pod := &corev1.Pod{}
	g.must(g.Client.Get(g.ctx, client.ObjectKey{Namespace: jobs, Name: w.Pod}, pod))
	return pod
}

// After the chart is removed, workers keep running. A worker that fails then exits within the documented time. When the chart is
// installed again, it leads the groups again.
func TestRemoval(t *testing.T) {
	g, workers := start(t, nil)
	other := startPods(t, "any-removal", asking("20"))
	others := other.running()
	other.kill(first(others))
	other.awaitCharged(1)
	g.must(release().Uninstall())
	time.Sleep(15 * time.Second)
	g.samePods(workers)
	other.samePods(others)
	failed := first(workers)
	at, err := g.Signal(g.ctx, failed, unix.SIGKILL)
	g.must(err)
	g.must(framework.Until(g.ctx, "its container has restarted", func(ctx context.Context) error {
		now, err := g.Workers(ctx, jobs, g.name)
		if err == nil && now[failed.ID].Restarts == 0 {
			err = fmt.Errorf("it has not restarted")
		}
		return err
	}))
	took := time.Since(at)
	t.Logf("MEASURED a worker that fails after the removal exits after %.1f s, with a limit of 60 s", took.Seconds())
	if took > 90*time.Second {
		t.Error("the worker took too long to exit")
	}
	g.must(release().Install(g.ctx, values()))
	g.must(framework.Until(g.ctx, "all run again", func(ctx context.Context) error {
		now, err := g.Workers(ctx, jobs, g.name)
		for _, w := range now {
			if err == nil && !w.Ready {
				err = fmt.Errorf("%s is not ready", w.ID)
			}
		}
		return err
	}))
	g.awaitSync("InSync")
	_, err = g.StartsAfter(g.ctx, jobs, g.name, size, at)
	g.must(err)
	other.awaitSync("InSync")
	other.samePods(others)
	other.kill(first(others))
	other.awaitCharged(2)
	other.samePods(others)
}

// Helm refuses a second release, and the first still leads its groups.
func TestSecondRelease(t *testing.T) {
	g, workers := start(t, nil)
	second := release()
	second.Name, second.Namespace = "second", namespace+"-second"
	t.Cleanup(func() {
		if err := second.Uninstall(); err != nil {
			t.Error(err)
		}
	})
	if err := second.Install(g.ctx, values()); err == nil || !strings.Contains(err.Error(), "MutatingWebhookConfiguration") {
		t.Errorf("a second release is not refused by its webhook configuration: %v", err)
	}
	g.kill(first(workers))
	g.awaitCharged(1)
	g.samePods(workers)
}

//go:build e2e && e2e_all

package placement

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

func exclusively(js *v1alpha2.JobSet) {
	js.Annotations = map[string]string{v1alpha2.ExclusiveKey: kubelet.PoolLabel}
	js.Spec.FailurePolicy = &v1alpha2.FailurePolicy{MaxRestarts: 3}
}

// There are three Jobs of four pods, and four racks. Each Job has a rack for itself, and a lost pod returns to the rack
// of the others, even if it was the leader.
func TestEachJobHasItsOwnRack(t *testing.T) {
	ns := namespace(t, "placement")
	create(t, ns, "train", exclusively, entry("w", 3, 4))
	names := []string{"train-w-0", "train-w-1", "train-w-2"}
	await(t, "all are ready", ready(ns, "train", names...))
	before := racks(t, ns, names)

	for _, lost := range []string{"0", "2"} {
		t.Run("the pod with index "+lost+" is lost", func(t *testing.T) {
			pod := podAt(t, ns, "train-w-1", lost)
			if err := shared.Client.Delete(t.Context(), pod); err != nil {
				t.Fatal(err)
			}
			await(t, "it is replaced", func(ctx context.Context) error {
				if now, err := podsOf(ctx, ns, "train-w-1"); err != nil || slices.ContainsFunc(now, func(p corev1.Pod) bool { return p.UID == pod.UID }) {
					return fmt.Errorf("it still exists (%v)", err)
				}
				return ready(ns, "train", names...)(ctx)
			})
			if now := racks(t, ns, names); now["train-w-1"] != before["train-w-1"] {
				t.Errorf("the Job was in %s and is in %s", before["train-w-1"], now["train-w-1"])
			}
		})
	}
	t.Run("a Job beyond the racks waits", func(t *testing.T) {
		create(t, ns, "other", exclusively, entry("w", 2, 2))
		await(t, "one of two is ready", func(ctx context.Context) error {
			all, err := jobs(ctx, ns, "other")
			if err != nil {
				return err
			}
			up := 0
			for _, job := range all {
				if job.Status.Ready != nil && *job.Status.Ready == 2 {
					up++
				}
			}
			if up != 1 {
				return fmt.Errorf("%d are ready", up)
			}
			return nil
		})
	})
	t.Run("a pod that fails is replaced", func(t *testing.T) {
		failed := podAt(t, ns, "train-w-2", "1")
		if err := simulation.Exit(client.ObjectKeyFromObject(failed), "", 1); err != nil {
			t.Fatal(err)
		}
		await(t, "the Job's pod is replaced", func(ctx context.Context) error {
			pods, err := podsOf(ctx, ns, "train-w-2")
			if err != nil || slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.UID == failed.UID && p.Status.Phase == corev1.PodRunning }) {
				return fmt.Errorf("it is still running (%v)", err)
			}
			return ready(ns, "train", names...)(ctx)
		})
		racks(t, ns, names)
	})
}

// racks returns the rack of each Job. It fails if a Job is in two racks, or two Jobs share one.
func racks(t *testing.T, ns string, names []string) map[string]string {
	t.Helper()
	where, taken := map[string]string{}, map[string]string{}
	for _, name := range names {
		pods, err := podsOf(t.Context(), ns, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range pods {
			if pod.Status.Phase == corev1.PodFailed {
				continue
			}
			rack := rackOf(t, pod.Spec.NodeName)
			if other := where[name]; other != "" && other != rack {
				t.Errorf("%s is in %s and in %s", name, other, rack)
			}
			where[name] = rack
		}
		if other := taken[where[name]]; other != "" {
			t.Errorf("%s and %s are both in %s", other, name, where[name])
		}
		taken[where[name]] = name
	}
	return where
}

func rackOf(t *testing.T, node string) string {
	t.Helper()
	var n corev1.Node
	if err := shared.Client.Get(t.Context(), client.ObjectKey{Name: node}, &n); err != nil {
		t.Fatal(err)
	}
	return n.Labels[kubelet.PoolLabel]
}

func podAt(t *testing.T, ns, job, index string) *corev1.Pod {
	t.Helper()
	pods, err := podsOf(t.Context(), ns, job)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(pods, func(p corev1.Pod) bool {
		return p.Annotations[batchv1.JobCompletionIndexAnnotation] == index && p.Status.Phase == corev1.PodRunning
	})
	if i < 0 {
		t.Fatalf("no pod with index %s runs in %s", index, strings.TrimSpace(job))
	}
	return &pods[i]
}

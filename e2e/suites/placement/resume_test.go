//go:build e2e && e2e_all

package placement

import (
	"context"
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// Index 0 has completed when its JobSet is suspended, and another JobSet takes the rack before the JobSet is resumed.
// The remaining pods move to a rack of their own, together, and no pod is created twice.
func TestAResumedJobMovesIfItsRackIsTaken(t *testing.T) {
	ns := namespace(t, "placement-resume")
	create(t, ns, "first", exclusively, entry("w", 1, 4))
	await(t, "the first JobSet is ready", ready(ns, "first", "first-w-0"))
	leader := podAt(t, ns, "first-w-0", "0")
	rack := rackOf(t, leader.Spec.NodeName)
	if err := simulation.Exit(client.ObjectKeyFromObject(leader), "", 0); err != nil {
		t.Fatal(err)
	}
	await(t, "index 0 has completed", func(ctx context.Context) error {
		all, err := jobs(ctx, ns, "first")
		if job := all["first-w-0"]; err == nil && job.Status.CompletedIndexes != "0" {
			return fmt.Errorf("the completed indexes are %q", job.Status.CompletedIndexes)
		}
		return err
	})
	suspend(t, ns, "first", true)
	await(t, "no pod of the first JobSet is running", func(ctx context.Context) error {
		living, err := livingOf(ctx, ns, "first-w-0")
		if len(living) > 0 {
			return fmt.Errorf("%s is running", living[0].Name)
		}
		return err
	})
	second := entry("w", 1, 4)
	second.Template.Spec.Template.Spec.NodeSelector[kubelet.PoolLabel] = rack
	create(t, ns, "second", exclusively, second)
	await(t, "the second JobSet is ready", ready(ns, "second", "second-w-0"))

	suspend(t, ns, "first", false)
	await(t, "the other pods of the first JobSet are ready", func(ctx context.Context) error {
		all, err := jobs(ctx, ns, "first")
		if err != nil {
			return err
		}
		if job := all["first-w-0"]; ptr.Deref(job.Status.Ready, 0) != 3 || job.Status.Failed > 0 {
			return fmt.Errorf("%d are ready, %d have failed", ptr.Deref(job.Status.Ready, 0), job.Status.Failed)
		}
		return nil
	})
	living, err := livingOf(t.Context(), ns, "first-w-0")
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range living {
		if got := rackOf(t, pod.Spec.NodeName); got == rack || got != rackOf(t, living[0].Spec.NodeName) {
			t.Errorf("%s is in %s, %s in %s, and the second in %s", pod.Name, got, living[0].Name, rackOf(t, living[0].Spec.NodeName), rack)
		}
	}
}

func suspend(t *testing.T, ns, name string, suspended bool) {
	t.Helper()
	await(t, fmt.Sprintf("suspend of %s is %t", name, suspended), func(ctx context.Context) error {
		var js v1alpha2.JobSet
		if err := shared.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, &js); err != nil {
			return err
		}
		before := js.DeepCopy()
		js.Spec.Suspend = &suspended
		return shared.Client.Patch(ctx, &js, client.MergeFrom(before))
	})
}

// livingOf returns the pods of a Job that have neither succeeded nor failed.
func livingOf(ctx context.Context, ns, job string) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := shared.Client.List(ctx, &list, client.InNamespace(ns), client.MatchingLabels{batchv1.JobNameLabel: job})
	var living []corev1.Pod
	for _, pod := range list.Items {
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			living = append(living, pod)
		}
	}
	return living, err
}

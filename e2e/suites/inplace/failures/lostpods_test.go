//go:build e2e && e2e_all

package failures

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework"
)

// The Job controller would back off for 10 s, 20 s, 40 s and so on, 50 minutes in total. From the fifth pod on, the
// back-off would exceed the test's time limit.
func TestTenLostPodsInARow(t *testing.T) {
	const losses = 10
	each(t, func(t *testing.T, d driver) {
		g := start(t, d, workload{MaxRestarts: losses})
		var took []string
		for n := range losses {
			gone := g.nth(n % g.size)
			at := time.Now()
			g.deletePod(gone)
			g.awaitSync(1, g.round+1)
			took = append(took, fmt.Sprintf("%.1f", time.Since(at).Seconds()))
			g.settle(outcome{Least: 1, Most: 1, Replaced: []string{gone.Where.ID}})
		}
		g.Logf("seconds from the deletion until all were in sync: %v", took)
		g.awaitJob(func(job *batchv1.Job) error {
			s := job.Status
			if s.Failed != losses || s.Active != int32(g.size) || ptr.Deref(s.Ready, 0) != s.Active || ptr.Deref(s.Terminating, 0) != 0 {
				return fmt.Errorf("its status is %+v", s)
			}
			return nil
		})
	})
}

// The leader relies on this when it replaces a pod: of two pods with the same index, the Job controller removes the
// less advanced one. It does not count this as a failure, and the group is not affected.
func TestTheJobControllerKeepsTheRunningOneOfTwoPods(t *testing.T) {
	t.Parallel()
	g := start(t, supervised{}, workload{})
	twin := g.twinOf(g.nth(1))
	g.must(g.Client.Create(g.ctx, twin))
	g.must(framework.Until(g.ctx, "the twin is gone", func(ctx context.Context) error {
		pod := &corev1.Pod{}
		err := g.Client.Get(ctx, client.ObjectKeyFromObject(twin), pod)
		if client.IgnoreNotFound(err) == nil && err != nil {
			return nil
		}
		return fmt.Errorf("it is %s: %w", pod.Status.Phase, err)
	}))
	g.stay(quiet)
	g.awaitJob(func(job *batchv1.Job) error {
		if job.Status.Failed != 0 || job.Status.Active != int32(g.size) {
			return fmt.Errorf("its status is %+v", job.Status)
		}
		return nil
	})
}

// twinOf returns a second pod of a worker that cannot be scheduled.
func (g *group) twinOf(i instance) *corev1.Pod {
	g.Helper()
	pod := &corev1.Pod{}
	g.must(g.Client.Get(g.ctx, types.NamespacedName{Namespace: i.Where.Namespace, Name: i.Where.Pod}, pod))
	twin := &corev1.Pod{Spec: *pod.Spec.DeepCopy(), ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: pod.Name + "-twin", Labels: pod.Labels, Annotations: pod.Annotations,
		OwnerReferences: pod.OwnerReferences, Finalizers: []string{batchv1.JobTrackingFinalizer},
	}}
	twin.Spec.NodeName = ""
	twin.Spec.NodeSelector = map[string]string{"holdfast.dev/no-node": "has-this"}
	isToken := func(name string) bool { return strings.HasPrefix(name, "kube-api-access-") }
	twin.Spec.Volumes = slices.DeleteFunc(twin.Spec.Volumes, func(v corev1.Volume) bool { return isToken(v.Name) })
	for _, containers := range [][]corev1.Container{twin.Spec.InitContainers, twin.Spec.Containers} {
		for n := range containers {
			c := &containers[n]
			c.VolumeMounts = slices.DeleteFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return isToken(m.Name) })
		}
	}
	return twin
}

// awaitJob waits until a check of the group's Job succeeds.
func (g *group) awaitJob(is func(*batchv1.Job) error) {
	g.Helper()
	id := g.nth(0).Where.ID
	key := types.NamespacedName{Namespace: g.js.Namespace, Name: id[:strings.LastIndexByte(id, '-')]}
	g.must(framework.Until(g.ctx, "Job "+key.Name+" is as expected", func(ctx context.Context) error {
		job := &batchv1.Job{}
		if err := g.Client.Get(ctx, key, job); err != nil {
			return err
		}
		return is(job)
	}))
}

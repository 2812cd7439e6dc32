package placement

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/parallel"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/exclusive"
)

// violation is the reason of the DisruptionTarget condition, as in the upstream controller.
const violation = "ExclusivePlacementViolation"

// release sends waiting followers to the domain of their leader.
func (r *Reconciler) release(ctx context.Context, s *scope) error {
	return parallel.Do(ctx, s.moves.Release, func(ctx context.Context, pod *corev1.Pod) error {
		patch := patchOf(pod, nil, "spec", map[string]any{
			"nodeSelector":    map[string]any{s.topology: s.domain},
			"schedulingGates": []any{liftGate()},
		})
		return unlessGone("releasing", pod, r.client.Patch(ctx, named(pod), patch))
	})
}

// promote makes a waiting follower the leader, because index 0 has finished and no leader will appear. A pod's
// affinities can only be set when the pod is created, so the scheduler places this pod freely, and the others follow.
// Recreating the pod could fail its Job, because a deleted pod counts as failed.
func (r *Reconciler) promote(ctx context.Context, s *scope) error {
	if !s.lacksLeader() {
		return nil
	}
	patch := patchOf(s.leaderless, map[string]string{exclusive.LeaderKey: "true"}, "spec", map[string]any{"schedulingGates": []any{liftGate()}})
	return unlessGone("releasing", s.leaderless, r.client.Patch(ctx, named(s.leaderless), patch))
}

// lacksLeader reports whether followers are waiting for a leader that will not appear.
func (s *scope) lacksLeader() bool { return s.leaderless != nil && exclusive.LeaderIsOver(s.job) }

func liftGate() map[string]any {
	return map[string]any{"$patch": "delete", "name": exclusive.Gate}
}

// evict deletes followers, so that they are recreated. The condition lets a podFailurePolicy know that a pod did not fail
// on its own.
func (r *Reconciler) evict(ctx context.Context, s *scope) error {
	marked := corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(), Reason: violation,
		Message: fmt.Sprintf("its leader is in %s %s", s.topology, s.domain),
	}
	return parallel.Do(ctx, s.moves.Evict, func(ctx context.Context, pod *corev1.Pod) error {
		patch := patchOf(pod, nil, "status", map[string]any{"conditions": []any{marked}})
		if err := r.client.Status().Patch(ctx, named(pod), patch); err != nil {
			return unlessGone("marking", pod, err)
		}
		return unlessGone("evicting", pod, r.client.Delete(ctx, named(pod), client.Preconditions{UID: &pod.UID}))
	})
}

// patchOf returns a patch that includes the pod's UID, so that the API server rejects it for another pod with that
// name.
func patchOf(pod *corev1.Pod, annotations map[string]string, part string, value map[string]any) client.Patch {
	raw, err := json.Marshal(map[string]any{"metadata": metav1.ObjectMeta{UID: pod.UID, Annotations: annotations}, part: value})
	if err != nil {
		panic(err) // strings and a condition always marshal
	}
	return client.RawPatch(types.StrategicMergePatchType, raw)
}

// named returns an object to receive the API server's response, because the pod in the cache is shared.
func named(pod *corev1.Pod) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
}

// unlessGone returns the error with context, or nil if the pod was deleted or replaced by another pod with the same
// name.
func unlessGone(doing string, pod *corev1.Pod, err error) error {
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("%s pod %s: %w", doing, pod.Name, err)
}

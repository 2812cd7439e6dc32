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

// violation is the reason of the DisruptionTarget condition, as in the published controller.
const violation = "ExclusivePlacementViolation"

// release lets followers go to the domain of their leader.
func (r *Reconciler) release(ctx context.Context, s *scope) error {
	return parallel.Do(ctx, s.moves.Release, func(ctx context.Context, pod *corev1.Pod) error {
		patch := content(pod, "spec", map[string]any{
			"nodeSelector":    map[string]any{s.topology: s.domain},
			"schedulingGates": []any{liftGate()},
		})
		return unlessGone("releasing", pod, r.client.Patch(ctx, named(pod), patch))
	})
}

// crown makes the heir the leader. A pod gets its affinities only when it is created, so that it is created anew; where that would end its
// Job, or its index, it goes where the scheduler puts it, and the others follow.
func (r *Reconciler) crown(ctx context.Context, s *scope) error {
	switch {
	case s.heir == nil:
		return nil
	case exclusive.Spares(s.job):
		return r.remove(ctx, s.heir, "its leader is over, and it is to be the next")
	}
	patch := content(s.heir, "spec", map[string]any{"schedulingGates": []any{liftGate()}})
	return unlessGone("releasing", s.heir, r.client.Patch(ctx, named(s.heir), patch))
}

func liftGate() map[string]any {
	return map[string]any{"$patch": "delete", "name": exclusive.Gate}
}

// evict has followers created anew.
func (r *Reconciler) evict(ctx context.Context, s *scope) error {
	return parallel.Do(ctx, s.moves.Evict, func(ctx context.Context, pod *corev1.Pod) error {
		return r.remove(ctx, pod, fmt.Sprintf("its leader is in %s %s", s.topology, s.domain))
	})
}

// remove a pod. The condition tells a podFailurePolicy that the pod did not fail by itself.
func (r *Reconciler) remove(ctx context.Context, pod *corev1.Pod, why string) error {
	patch := content(pod, "status", map[string]any{"conditions": []any{corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(), Reason: violation, Message: why,
	}}})
	if err := r.client.Status().Patch(ctx, named(pod), patch); err != nil {
		return unlessGone("marking", pod, err)
	}
	return unlessGone("evicting", pod, r.client.Delete(ctx, named(pod), client.Preconditions{UID: &pod.UID}))
}

// content of a patch for this very pod: the UID makes the API server refuse another one of the name.
func content(pod *corev1.Pod, part string, value map[string]any) client.Patch {
	raw, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, part: value})
	if err != nil {
		panic(err) // strings and a condition always marshal
	}
	return client.RawPatch(types.StrategicMergePatchType, raw)
}

// named is where the answer of the API server goes: the pod in the cache is shared.
func named(pod *corev1.Pod) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
}

// unlessGone takes a pod that is gone, or replaced by another one of the name, for done.
func unlessGone(doing string, pod *corev1.Pod, err error) error {
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("%s pod %s: %w", doing, pod.Name, err)
}

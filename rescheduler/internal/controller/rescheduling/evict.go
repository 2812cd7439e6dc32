package rescheduling

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/rescheduler/internal/placement"
)

// outcome is the result of an attempt to move a pod.
type outcome string

const (
	moved   outcome = "moved"
	blocked outcome = "blocked" // by a PodDisruptionBudget
	// contradicted means that several PodDisruptionBudgets select the pod, which the API server does not support.
	contradicted outcome = "contradicted"
	gone         outcome = "gone" // it was deleted, or another pod has its name
)

// blockedFor is the delay before an eviction that a budget refused is retried. The API server sends no event when the budget changes.
const blockedFor = 10 * time.Second

// evict uses the Eviction API, which respects disruption budgets and records the reason on the pod.
func (r *Reconciler) evict(ctx context.Context, s *scope) (outcome, error) {
	return r.evictBy(ctx, s.pod, exactly(s.pod))
}

// severalBudgets is part of the API server's message about a pod with several PodDisruptionBudgets. The error has no reason of its own.
const severalBudgets = "more than one PodDisruptionBudget"

func (r *Reconciler) evictBy(ctx context.Context, pod *corev1.Pod, options *metav1.DeleteOptions) (outcome, error) {
	err := r.Client.SubResource("eviction").Create(ctx, pod.DeepCopy(), &policyv1.Eviction{DeleteOptions: options})
	switch {
	case err == nil:
		return moved, nil
	case apierrors.IsTooManyRequests(err):
		return blocked, nil
	case err != nil && strings.Contains(err.Error(), severalBudgets):
		return contradicted, nil
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		return gone, nil
	}
	return gone, fmt.Errorf("evicting the pod: %w", err)
}

func exactly(pod *corev1.Pod) *metav1.DeleteOptions {
	uid := pod.UID
	return &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
}

// volumes returns the name of a volume that ties the pod to its node; empty if there is none.
func (r *Reconciler) volumes(ctx context.Context, pod *corev1.Pod) (string, error) {
	if pinned := placement.Pinned(pod); pinned != "" {
		return pinned, nil
	}
	for _, v := range pod.Spec.Volumes {
		claim := pod.Name + "-" + v.Name // the claim of an ephemeral volume
		if v.PersistentVolumeClaim != nil {
			claim = v.PersistentVolumeClaim.ClaimName
		}
		tied, err := r.tied(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: claim})
		if err != nil {
			return "", err
		}
		if tied {
			return fmt.Sprintf("volume %s can be used on that node only", v.Name), nil
		}
	}
	return "", nil
}

func (r *Reconciler) tied(ctx context.Context, key client.ObjectKey) (bool, error) {
	var claim corev1.PersistentVolumeClaim
	if err := r.Live.Get(ctx, key, &claim); err != nil || claim.Spec.VolumeName == "" {
		return false, client.IgnoreNotFound(err)
	}
	var volume corev1.PersistentVolume
	if err := r.Live.Get(ctx, client.ObjectKey{Name: claim.Spec.VolumeName}, &volume); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return placement.TiedTo(&volume), nil
}

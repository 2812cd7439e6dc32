package rescheduling

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/placement"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
)

// outcome is the result of an attempt to move a pod.
type outcome string

const (
	moved   outcome = "moved"
	blocked outcome = "blocked" // by a PodDisruptionBudget
	// contradicted means that several PodDisruptionBudgets select the pod, which the API server does not support.
	contradicted outcome = "contradicted"
	gone         outcome = "gone" // deleted, or another pod has its name
)

// blockedFor is the delay before an eviction that was blocked by a budget is retried. The API server sends no event when the budget
// changes.
const blockedFor = 10 * time.Second

// severalBudgets is part of the API server's message about a pod with several PodDisruptionBudgets. The error has no distinct reason.
const severalBudgets = "more than one PodDisruptionBudget"

// evict uses the Eviction API, which respects disruption budgets and records the reason on the pod. It has no effect on another pod with
// the same name or, if version is not nil, on another version of the pod.
func (r *Reconciler) evict(ctx context.Context, pod *corev1.Pod, version *string) (outcome, error) {
	options := &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID, ResourceVersion: version}}
	err := r.Client.SubResource("eviction").Create(ctx, pod.DeepCopy(), &policyv1.Eviction{DeleteOptions: options})
	switch {
	case err == nil:
		return moved, nil
	case apierrors.IsTooManyRequests(err):
		return blocked, nil
	case strings.Contains(err.Error(), severalBudgets):
		return contradicted, nil
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		return gone, nil
	}
	return gone, fmt.Errorf("evicting the pod: %w", err)
}

// volumes returns a description of a volume that ties the pod to its node, or "" if there is none.
func (r *Reconciler) volumes(ctx context.Context, pod *corev1.Pod) (string, error) {
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

// SuccessorOf is the annotation on a recreated bare pod that holds the UID of its predecessor.
const SuccessorOf = "holdfast.dev/successor-of"

// remake recreates a bare pod under the next name and then deletes the old one, so that at least one of the two always exists. The new name
// is derived from the old one, so that after a crash the successor is found and not created twice.
func (r *Reconciler) remake(ctx context.Context, s *scope) (outcome, error) {
	var pod corev1.Pod // the cached copy is incomplete
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(s.pod), &pod); err != nil || pod.UID != s.pod.UID {
		return gone, client.IgnoreNotFound(err)
	}
	if s.pod.Spec.NodeName == "" && pod.Spec.NodeName != "" { // bound in the meantime
		return gone, nil
	}
	pod.Spec = placement.WithoutExclusions(&pod, memory.Hosts(pod.Annotations)).Spec // drops exclusions from an earlier move, which may have expired
	all, err := r.Nodes.List(ctx)
	if err != nil {
		return gone, err
	}
	next := successor(&pod, s.memory.Exclusions(memory.MaxHosts, "", s.now, all.UID), r.Config.Enforcement.Mode(pod.Spec.SchedulerName))
	err = r.Client.Create(ctx, next, fieldOwner)
	if apierrors.IsAlreadyExists(err) {
		err = r.isSuccessor(ctx, next)
	}
	if err != nil {
		return gone, fmt.Errorf("creating pod %s as the successor of %s: %w", next.Name, pod.Name, err)
	}
	err = r.Client.Delete(ctx, &pod, client.Preconditions{UID: &pod.UID})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return gone, nil
	}
	if err != nil {
		return gone, fmt.Errorf("deleting pod %s, whose successor is %s: %w", pod.Name, next.Name, err)
	}
	return moved, nil
}

// retire deletes a pod that already has a successor. Both can exist after a crash during remake.
func (r *Reconciler) retire(ctx context.Context, s *scope) error {
	if !r.Config.BarePods.Recreate || r.Config.DryRun {
		return nil
	}
	var next corev1.Pod
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.pod.Namespace, Name: nextName(s.pod.Name)}, &next)
	if err != nil || next.Annotations[SuccessorOf] != string(s.pod.UID) {
		return client.IgnoreNotFound(err)
	}
	err = r.Client.Delete(ctx, s.pod.DeepCopy(), client.Preconditions{UID: &s.pod.UID})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting pod %s, whose successor is %s: %w", s.pod.Name, next.Name, err)
	}
	return nil
}

func (r *Reconciler) isSuccessor(ctx context.Context, next *corev1.Pod) error {
	var there corev1.Pod
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(next), &there); err != nil {
		return err
	}
	if there.Annotations[SuccessorOf] != next.Annotations[SuccessorOf] {
		return fmt.Errorf("another pod already has this name")
	}
	return nil
}

// successor returns a copy of the pod without the fields that the cluster sets.
func successor(pod *corev1.Pod, hosts []string, mode settings.Mode) *corev1.Pod {
	next := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: nextName(pod.Name), Namespace: pod.Namespace, Labels: pod.Labels, Annotations: maps.Clone(pod.Annotations), Finalizers: pod.Finalizers,
			OwnerReferences: pod.OwnerReferences,
		},
		Spec: *pod.Spec.DeepCopy(),
	}
	metav1.SetMetaDataAnnotation(&next.ObjectMeta, SuccessorOf, string(pod.UID))
	metav1.SetMetaDataAnnotation(&next.ObjectMeta, memory.HostsAnnotation, memory.FormatHosts(hosts))
	// The volume with the service account token stays. The API server adds one only to containers without a mount for it.
	next.Spec.NodeName, next.Spec.EphemeralContainers, next.Spec.Priority = "", nil, nil
	if mode == settings.Required && len(hosts) > 0 {
		placement.Exclude(&next.Spec, hosts)
	}
	return next
}

var numbered = regexp.MustCompile(`^(.*)-r(\d{1,6})$`)

// nextName returns the name of the successor: a, a-r1, a-r2.
func nextName(name string) string {
	base, n := name, 0
	if parts := numbered.FindStringSubmatch(name); parts != nil {
		base = parts[1]
		_, _ = fmt.Sscan(parts[2], &n) // the expression matches only digits
	}
	suffix := fmt.Sprintf("-r%d", n+1)
	return strings.TrimRight(base[:min(len(base), 253-len(suffix))], "-.") + suffix
}

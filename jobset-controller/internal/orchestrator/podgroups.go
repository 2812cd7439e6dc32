package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/owners"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/parallel"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/beside"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
)

// Pods is the kind of groups declared by their pods, regardless of which controller owns the pods. The pod with index 0
// owns the group and holds its counts and conditions. A full recreation deletes all pods. The pods that the controller
// creates next form a new group.
func Pods(installation string) Kind {
	return led(installation, Kind{
		Controller: "pods", GVK: owners.Pod, Alone: true,
		Concerns: isLeader,
		New:      func() client.Object { return &corev1.Pod{} },
	})
}

// getLeader corrects the result of reading the pod with index 0 from the cache. If the webhook missed that pod, it is
// not in the cache, and getLeader reads it from the API server. If it is gone, getLeader deletes the other pods of the
// group.
func (r *Reconciler) getLeader(ctx context.Context, key types.NamespacedName, pod *corev1.Pod, err error) error {
	var list corev1.PodList
	if err := r.Client.List(ctx, &list, client.InNamespace(key.Namespace), client.MatchingFields{PodsOfGroup: membersOf(key.Name)}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the pods: %w", err)
	}
	left := func() []corev1.Pod {
		return slices.DeleteFunc(slices.Clone(list.Items), func(member corev1.Pod) bool {
			leads := err == nil && pod.DeletionTimestamp.IsZero() && inplace.LeaderOf(&member) == string(pod.UID)
			return leads || isLeader(&member) || member.Annotations[v1alpha2.LedByKey] != r.Kind.Installation || !policy.Lives(&member)
		})
	}
	if apierrors.IsNotFound(err) && len(list.Items) > 0 || len(left()) > 0 {
		if err = r.Live.Get(ctx, key, pod); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	failed := parallel.Do(ctx, left(), func(ctx context.Context, one corev1.Pod) error {
		log.FromContext(ctx).Info("deleting a pod because the pod with index 0 of its group is gone", "pod", one.Name, "uid", one.UID)
		return client.IgnoreNotFound(r.Client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: one.Namespace, Name: one.Name}}, client.Preconditions{UID: &one.UID}))
	})
	return errors.Join(failed, err)
}

// NoteUnprepared reports, on each pod with index 0, that the group runs without in-place restarts because the webhook
// has not processed any of its pods. The cache contains none of these pods: it selects by a label that the webhook
// sets. Each pod is examined only once, because its request for in-place restarts is fixed at its creation.
func (r *Reconciler) NoteUnprepared(ctx context.Context) error {
	before := r.examined
	r.examined = map[types.UID]bool{}
	for _, selector := range []string{
		fmt.Sprintf("%s,!%s", v1alpha2.PodGroupKey, v1alpha2.GroupKindKey),
		fmt.Sprintf("%s,%s=0,!%s", inplace.LeaderWorkerSetKey, beside.WorkerIndexKey, v1alpha2.GroupKindKey),
	} {
		selected, err := labels.Parse(selector)
		if err != nil {
			return err
		}
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
		fromCache := &metav1.ListOptions{ResourceVersion: "0"}
		if err := r.Live.List(ctx, list, client.MatchingLabelsSelector{Selector: selected}, &client.ListOptions{Raw: fromCache}); err != nil {
			r.examined = before
			return fmt.Errorf("listing pods without agents: %w", err)
		}
		for i := range list.Items {
			pod := &list.Items[i]
			if !before[pod.UID] {
				if err := r.examine(ctx, pod); err != nil {
					log.FromContext(ctx).Error(err, "checking a pod without an agent failed", "pod", pod.Name, "namespace", pod.Namespace)
					continue
				}
			}
			r.examined[pod.UID] = true
		}
	}
	return nil
}

func (r *Reconciler) examine(ctx context.Context, metadata *metav1.PartialObjectMetadata) error {
	asks, err := r.asks(ctx, metadata)
	if err != nil || !asks {
		return err
	}
	pod := &corev1.Pod{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(metadata), pod); err != nil {
		return client.IgnoreNotFound(err)
	}
	if pod.UID != metadata.UID || !policy.Lives(pod) || pod.Labels[v1alpha2.GroupKindKey] != "" {
		return nil
	}
	why := unprepared
	if said := conditionOf(jobSetOf(pod), ConditionInSync); said != nil && said.Message == why {
		return nil
	}
	set := leader.SetConditions{InSync: &leader.Condition{Reason: leader.ReasonRefused, Message: why}}
	if err := writeConditions(ctx, r.Client, pod, set, r.Clock.Now()); err != nil {
		return err
	}
	r.Recorder.Eventf(pod, nil, corev1.EventTypeWarning, leader.EventMissedPods, "Restarting", "%s", why)
	return nil
}

// asks reports whether a pod is the pod with index 0 of a group and requests in-place restarts, itself or through its
// LeaderWorkerSet.
func (r *Reconciler) asks(ctx context.Context, pod *metav1.PartialObjectMetadata) (bool, error) {
	if leader, declared := pod.Labels[v1alpha2.PodGroupKey]; declared {
		return beside.Asks(pod) && leader == pod.Name, nil
	}
	set := &unstructured.Unstructured{}
	set.SetGroupVersionKind(beside.LeaderWorkerSet)
	if err := r.Live.Get(ctx, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Labels[inplace.LeaderWorkerSetKey]}, set); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return beside.Asks(set), nil
}

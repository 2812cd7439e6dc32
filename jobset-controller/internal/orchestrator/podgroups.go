package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/owners"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/beside"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
)

// Pods is the kind of groups that pods declare, regardless of the owner of the pods. The pod with index 0 owns the group and has the
// counts and conditions. A full recreation deletes all pods. The pods that their owner creates next are a new group.
func Pods(installation string) Kind {
	return led(installation, Kind{
		Controller: "pods", GVK: owners.Pod, Pods: inplace.PodKind, Alone: true,
		Concerns: isLeader,
		New:      func() client.Object { return &corev1.Pod{} },
	})
}

// getLeader completes the cache's answer about the pod of index 0. If the webhook missed that pod, it is not in the cache and is
// read live. If it is gone, the other pods of its group are deleted, because they have no leader.
func (r *Reconciler) getLeader(ctx context.Context, key types.NamespacedName, pod *corev1.Pod, err error) error {
	var list corev1.PodList
	if err := r.Client.List(ctx, &list, client.InNamespace(key.Namespace), client.MatchingFields{PodsOfGroup: membersOf(key.Name)}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the pods: %w", err)
	}
	left := func() []corev1.Pod {
		return slices.DeleteFunc(slices.Clone(list.Items), func(member corev1.Pod) bool {
			leads := err == nil && pod.DeletionTimestamp.IsZero() && inplace.LeaderOf(&member) == string(pod.UID)
			return leads || isLeader(&member) || member.Annotations[v1alpha2.LedByKey] != r.Kind.Installation || !beside.Lives(&member)
		})
	}
	if apierrors.IsNotFound(err) && len(list.Items) > 0 || len(left()) > 0 {
		if err = r.Live.Get(ctx, key, pod); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	orphans := left()
	failed := inParallel(len(orphans), func(i int) error {
		one := &orphans[i]
		log.FromContext(ctx).Info("deleting a pod because the pod with index 0 of its group is gone", "pod", one.Name, "uid", one.UID)
		return client.IgnoreNotFound(r.Client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: one.Namespace, Name: one.Name}}, client.Preconditions{UID: &one.UID}))
	})
	return errors.Join(failed, err)
}

// observeMissed finds pods of a group that have no agent or share an index. The cache has only those that the webhook has seen.
func (x *run) observeMissed(ctx context.Context) error {
	owner, is := x.owner.(*corev1.Pod)
	if !is || x.o.Owner.Served == nil {
		return nil
	}
	m, _, _ := inplace.MemberOf(owner)
	names := map[string]string{}
	x.conflict = ""
	for _, pod := range x.o.Pods {
		if other, taken := names[pod.Slot]; taken && pod.Lives() {
			x.conflict = fmt.Sprintf("pods %s and %s have the same index", other, pod.Name)
		}
		if pod.Lives() {
			names[pod.Slot] = pod.Name
		}
	}
	if len(names) == m.Size {
		x.state.missed = nil
	} else if now := x.Clock.Now(); now.Sub(x.state.missedListed) >= leader.MissedEvery {
		if err := x.listMissed(ctx); err != nil {
			return err
		}
		x.state.missedListed = now
	}
	_, err := x.view()
	return err
}

func (x *run) listMissed(ctx context.Context) error {
	var list corev1.PodList
	if err := x.Live.List(ctx, &list, client.InNamespace(x.owner.GetNamespace()), client.MatchingLabels(inplace.GroupLabels(x.owner.(*corev1.Pod)))); err != nil {
		return fmt.Errorf("listing the pods of the group: %w", err)
	}
	x.state.missed = nil
	for i := range list.Items {
		pod := &list.Items[i]
		why := beside.WithoutAgent(pod, x.o.Owner.Served.Installation)
		if why != "" && beside.Lives(pod) && pod.UID != x.owner.GetUID() {
			x.state.missed = append(x.state.missed, leader.Missed{Pod: podOf(pod), Why: why})
		}
	}
	return nil
}

package orchestrator

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/beside"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
)

// Unprepared says on pods of index 0 that their groups run without in-place restarts because the webhook has seen none of their pods. The cache has none
// of these pods: it selects by a label that the webhook sets.
type Unprepared struct {
	Client   client.Client
	Live     client.Reader
	Recorder events.EventRecorder
	Clock    clock.PassiveClock

	examined map[types.UID]bool
}

// Once examines each pod of index 0 once: whether it asks is decided before it is created.
func (u *Unprepared) Once(ctx context.Context) error {
	before := u.examined
	u.examined = map[types.UID]bool{}
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
		if err := u.Live.List(ctx, list, client.MatchingLabelsSelector{Selector: selected}, &client.ListOptions{Raw: fromCache}); err != nil {
			u.examined = before
			return fmt.Errorf("listing pods without agents: %w", err)
		}
		for i := range list.Items {
			pod := &list.Items[i]
			if !before[pod.UID] {
				if err := u.examine(ctx, pod); err != nil {
					log.FromContext(ctx).Error(err, "checking a pod without an agent failed", "pod", pod.Name, "namespace", pod.Namespace)
					continue
				}
			}
			u.examined[pod.UID] = true
		}
	}
	return nil
}

func (u *Unprepared) examine(ctx context.Context, metadata *metav1.PartialObjectMetadata) error {
	asks, err := u.asks(ctx, metadata)
	if err != nil || !asks {
		return err
	}
	pod := &corev1.Pod{}
	if err := u.Live.Get(ctx, client.ObjectKeyFromObject(metadata), pod); err != nil {
		return client.IgnoreNotFound(err)
	}
	if pod.UID != metadata.UID || !beside.Lives(pod) || pod.Labels[v1alpha2.GroupKindKey] != "" {
		return nil
	}
	why := unprepared(&v1alpha2.JobSet{TypeMeta: metav1.TypeMeta{Kind: inplace.PodKind}})
	if said := conditionOf(jobSetOf(pod), ConditionInSync); said != nil && said.Message == why {
		return nil
	}
	set := leader.SetConditions{InSync: &leader.Condition{Reason: leader.ReasonRefused, Message: why}}
	if err := writeConditions(ctx, u.Client, pod, set, u.Clock.Now()); err != nil {
		return err
	}
	u.Recorder.Eventf(pod, nil, corev1.EventTypeWarning, leader.EventMissedPods, "Restarting", "%s", why)
	return nil
}

// asks reports whether a pod is the one of index 0 of a group that requests in-place restarts, or whose LeaderWorkerSet does.
func (u *Unprepared) asks(ctx context.Context, pod *metav1.PartialObjectMetadata) (bool, error) {
	if pod.Labels[v1alpha2.PodGroupKey] == pod.Name {
		_, asks := pod.Annotations[v1alpha2.InPlaceTimeoutKey]
		return asks, nil
	}
	name := pod.Labels[inplace.LeaderWorkerSetKey]
	if name == "" || pod.Labels[beside.WorkerIndexKey] != "0" {
		return false, nil
	}
	set := &unstructured.Unstructured{}
	set.SetGroupVersionKind(beside.LeaderWorkerSet)
	if err := u.Live.Get(ctx, types.NamespacedName{Namespace: pod.Namespace, Name: name}, set); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return beside.AsksOfSet(set), nil
}

package webhook

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/beside"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

// +kubebuilder:webhook:path=/mutate--v1-pod,mutating=true,failurePolicy=ignore,sideEffects=None,groups="",resources=pods,verbs=create,versions=v1,name=mpod.holdfast.dev,admissionReviewVersions=v1,serviceName=holdfast-inplace-webhook-service

// The counts and conditions of a group declared by its pods are kept on the pod with index 0.
// +kubebuilder:rbac:groups="",resources=pods,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods/finalizers,verbs=update
// +kubebuilder:rbac:groups=leaderworkerset.x-k8s.io,resources=leaderworkersets,verbs=get

// Pods is the webhook for pods that declare a group and for pods of LeaderWorkerSets.
type Pods struct {
	Live         client.Reader
	Agents       inject.Settings
	Installation string
}

// Default prepares a pod that declares a group, or whose LeaderWorkerSet requests in-place restarts. An error rejects
// the pod, and its owner tries again.
func (w *Pods) Default(ctx context.Context, pod *corev1.Pod) error {
	set := w.setOf(ctx, pod)
	leader, declared := pod.Labels[v1alpha2.PodGroupKey]
	if set != nil {
		declared = beside.Declare(pod, set)
		leader = pod.Labels[v1alpha2.PodGroupKey]
	}
	if !declared || !nameIt(pod) {
		return nil
	}
	if pod.Name == leader {
		return w.lead(ctx, pod, set)
	}
	return w.follow(ctx, pod)
}

// lead prepares the pod with index 0, unless pods of the group that have no agents are waiting for it.
func (w *Pods) lead(ctx context.Context, pod *corev1.Pod, set *unstructured.Unstructured) error {
	if !beside.Asks(pod) {
		return nil
	}
	if set != nil { // the workers of an earlier leader are deleted together with it
		beside.Lead(pod, beside.RefusalOfSet(set), w.Agents, w.Installation)
		return nil
	}
	var list corev1.PodList
	if err := w.Live.List(ctx, &list, client.InNamespace(bootstrap.NamespaceOf(ctx, pod)), client.MatchingLabels{v1alpha2.PodGroupKey: pod.Name}); err != nil {
		return fmt.Errorf("listing the pods of the group: %w", err)
	}
	var without []string
	for i := range list.Items {
		if other := &list.Items[i]; policy.Lives(other) && beside.WithoutAgent(other, w.Installation) != "" {
			without = append(without, other.Name)
		}
	}
	against := ""
	if len(without) > 0 {
		against = "pods of the group run without agents: " + strings.Join(without, ", ") + "; recreate them together with this pod"
	}
	beside.Lead(pod, against, w.Agents, w.Installation)
	return nil
}

// setOf returns the LeaderWorkerSet of a pod, or nil if it has none. If the read fails, the pod is created without an
// agent.
func (w *Pods) setOf(ctx context.Context, pod *corev1.Pod) *unstructured.Unstructured {
	name := pod.Labels[inplace.LeaderWorkerSetKey]
	if name == "" {
		return nil
	}
	set := &unstructured.Unstructured{}
	set.SetGroupVersionKind(beside.LeaderWorkerSet)
	err := w.Live.Get(ctx, types.NamespacedName{Namespace: bootstrap.NamespaceOf(ctx, pod), Name: name}, set)
	if err != nil {
		log.FromContext(ctx).Error(err, "reading a LeaderWorkerSet failed, creating its pod without an agent", "leaderWorkerSet", name, "pod", pod.Name)
		return nil
	}
	return set
}

// follow prepares any other pod, which needs the UID of the pod with index 0.
func (w *Pods) follow(ctx context.Context, pod *corev1.Pod) error {
	leader := &corev1.Pod{}
	name := types.NamespacedName{Namespace: bootstrap.NamespaceOf(ctx, pod), Name: pod.Labels[v1alpha2.PodGroupKey]}
	err := w.Live.Get(ctx, name, leader)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("label %s: create pod %s first", v1alpha2.PodGroupKey, name.Name)
	case err != nil:
		return fmt.Errorf("reading the pod with index 0: %w", err)
	case !leader.DeletionTimestamp.IsZero() && beside.Asks(leader):
		return fmt.Errorf("label %s: pod %s is being deleted, wait for the next one", v1alpha2.PodGroupKey, name.Name)
	}
	beside.Follow(pod, leader, w.Agents, w.Installation)
	return nil
}

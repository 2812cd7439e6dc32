package webhook

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/storage/names"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/beside"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
)

// +kubebuilder:webhook:path=/mutate--v1-pod,mutating=true,failurePolicy=ignore,sideEffects=None,groups="",resources=pods,verbs=create,versions=v1,name=mpod.holdfast.dev,admissionReviewVersions=v1,serviceName=holdfast-inplace-webhook-service

// Counts and conditions of a group that pods declare are kept on the pod of index 0.
// +kubebuilder:rbac:groups="",resources=pods,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods/finalizers,verbs=update

// Pods prepares pods that declare a group.
type Pods struct {
	Live         client.Reader
	Agents       inject.Settings
	Installation string
}

// Register serves the webhook.
func (w *Pods) Register(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &corev1.Pod{}).WithDefaulter(w).Complete()
}

// Default prepares a pod that declares a group. An error keeps the pod from being created. Its owner tries again.
func (w *Pods) Default(ctx context.Context, pod *corev1.Pod) error {
	leader, declared := pod.Labels[v1alpha2.PodGroupKey]
	if !declared {
		return nil
	}
	if pod.Name == "" {
		pod.Name = names.SimpleNameGenerator.GenerateName(pod.GenerateName) // as the API server would
	}
	prepare := w.follow
	if pod.Name == leader {
		prepare = w.lead
	}
	prepared, err := prepare(ctx, pod)
	if prepared {
		log.FromContext(ctx).V(1).Info("prepared a pod for in-place restarts", "pod", pod.Name, "group", leader)
	}
	return err
}

// lead prepares the pod of index 0, unless pods of the group that carry no agents wait for it.
func (w *Pods) lead(ctx context.Context, pod *corev1.Pod) (bool, error) {
	if !beside.AsksOfPods(pod) {
		return false, nil
	}
	var list corev1.PodList
	if err := w.Live.List(ctx, &list, client.InNamespace(namespaceOf(ctx, pod)), client.MatchingLabels{v1alpha2.PodGroupKey: pod.Name}); err != nil {
		return false, fmt.Errorf("listing the pods of the group: %w", err)
	}
	var without []string
	for i := range list.Items {
		if other := &list.Items[i]; beside.Lives(other) && beside.WithoutAgent(other, w.Installation) != "" {
			without = append(without, other.Name)
		}
	}
	return beside.Lead(pod, without, w.Agents, w.Installation), nil
}

// follow prepares another pod, which has to know the UID of the pod of index 0.
func (w *Pods) follow(ctx context.Context, pod *corev1.Pod) (bool, error) {
	leader := &corev1.Pod{}
	name := types.NamespacedName{Namespace: namespaceOf(ctx, pod), Name: pod.Labels[v1alpha2.PodGroupKey]}
	err := w.Live.Get(ctx, name, leader)
	switch {
	case apierrors.IsNotFound(err):
		return false, fmt.Errorf("label %s: create pod %s first", v1alpha2.PodGroupKey, name.Name)
	case err != nil:
		return false, fmt.Errorf("reading the pod of index 0: %w", err)
	case !leader.DeletionTimestamp.IsZero() && beside.AsksOfPods(leader):
		return false, fmt.Errorf("label %s: pod %s is being deleted, wait for the next one", v1alpha2.PodGroupKey, name.Name)
	}
	return beside.Follow(pod, leader, w.Agents, w.Installation), nil
}

package rescheduling

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// swept is the interval at which unneeded labels are removed. A label that is kept too long costs one webhook call per
// pod.
const swept = 10 * time.Minute

// Start sweeps at intervals, on the leader only.
func (r *Reconciler) Start(ctx context.Context) error {
	_ = wait.PollUntilContextCancel(ctx, swept, false, func(ctx context.Context) (done bool, err error) {
		if err := r.Sweep(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "Sweep failed, retrying at the next interval")
		}
		return false, nil
	})
	return nil
}

// Sweep forgets controllers without pods, and removes the label from namespaces without managed workloads.
func (r *Reconciler) Sweep(ctx context.Context) error {
	var problems []error // an error about one controller or namespace does not affect the others
	r.ownership.prune(func(direct types.UID) bool {
		var pods corev1.PodList // listing all pods would copy the cache
		if err := r.Client.List(ctx, &pods, byOwner(direct), client.Limit(1), client.UnsafeDisableDeepCopy); err != nil {
			problems = append(problems, fmt.Errorf("listing pods of a controller: %w", err))
			return true
		}
		return len(pods.Items) > 0
	})
	namespaces := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NamespaceList"}}
	if err := r.Client.List(ctx, namespaces, client.MatchingLabels{NamespaceLabel: labelled}); err != nil {
		return fmt.Errorf("listing namespaces: %w", err)
	}
	for i := range namespaces.Items {
		name := namespaces.Items[i].Name
		needed, err := r.needed(ctx, name)
		if err == nil && !needed {
			err = r.setLabel(ctx, name, "")
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// needed reports whether pods in the namespace must pass through the webhook.
func (r *Reconciler) needed(ctx context.Context, namespace string) (bool, error) {
	only := r.Config.Namespaces
	if slices.Contains(r.Config.ExcludedNamespaces, namespace) || len(only) > 0 && !slices.Contains(only, namespace) {
		return false, nil
	}
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("listing pods: %w", err)
	}
	for i := range pods.Items {
		s, err := r.observe(ctx, pods.Items[i].DeepCopy())
		if err != nil {
			return false, err
		}
		if s != nil {
			return true, nil
		}
	}
	return false, nil
}

// NamespaceLabel selects the namespaces whose pods pass through the webhook. Pods in all other namespaces are admitted
// without the webhook.
const (
	NamespaceLabel = "holdfast.dev/rescheduling"
	labelled       = "enabled"
)

// setLabel writes the label, or removes it if value is empty.
func (r *Reconciler) setLabel(ctx context.Context, name, value string) error {
	if r.Config.DryRun {
		return nil
	}
	namespace := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil {
		return client.IgnoreNotFound(err)
	}
	if namespace.Labels[NamespaceLabel] == value {
		return nil
	}
	after := namespace.DeepCopy()
	metav1.SetMetaDataLabel(&after.ObjectMeta, NamespaceLabel, value)
	if value == "" {
		delete(after.Labels, NamespaceLabel)
	}
	if err := r.Client.Patch(ctx, after, client.MergeFrom(namespace), fieldOwner); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("labeling namespace %s: %w", name, err)
	}
	return nil
}

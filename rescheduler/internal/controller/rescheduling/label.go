package rescheduling

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NamespaceLabel selects the namespaces whose pods go through the webhook. Pods of all others are admitted without it.
const (
	NamespaceLabel = "holdfast.dev/rescheduling"
	labelled       = "enabled"
)

// setLabel writes the label, or removes it if value is empty.
func (r *Reconciler) setLabel(ctx context.Context, name, value string) error {
	if r.Config.DryRun {
		return nil
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := r.Client.Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil {
		return client.IgnoreNotFound(err)
	}
	if namespace.Labels[NamespaceLabel] == value {
		return nil
	}
	after := namespace.DeepCopy()
	after.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if after.Labels == nil {
		after.Labels = map[string]string{}
	}
	after.Labels[NamespaceLabel] = value
	if value == "" {
		delete(after.Labels, NamespaceLabel)
	}
	if err := r.Client.Patch(ctx, after, client.MergeFrom(namespace), fieldOwner); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("labeling namespace %s: %w", name, err)
	}
	return nil
}

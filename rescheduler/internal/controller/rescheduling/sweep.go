package rescheduling

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// swept is the interval at which controllers without pods are forgotten.
const swept = 10 * time.Minute

// Start sweeps at intervals, on the leader only.
func (r *Reconciler) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, r.Sweep, swept)
	return nil
}

// Sweep forgets controllers without pods. If a controller's pods cannot be listed, it is kept until the next sweep.
func (r *Reconciler) Sweep(ctx context.Context) {
	r.ownership.prune(func(direct types.UID) bool {
		var pods corev1.PodList // listing all pods would copy the cache
		err := r.Client.List(ctx, &pods, byOwner(direct), client.Limit(1), client.UnsafeDisableDeepCopy)
		return err != nil || len(pods.Items) > 0
	})
}

// NamespaceLabel selects the namespaces whose pods pass through the webhook. Pods in all other namespaces are admitted
// without the webhook. The controller sets the label, and never removes it.
const (
	NamespaceLabel = "holdfast.dev/rescheduling"
	labelled       = "enabled"
)

// label labels the namespace.
func (r *Reconciler) label(ctx context.Context, name string) error {
	if r.Config.DryRun {
		return nil
	}
	namespace := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil {
		return client.IgnoreNotFound(err)
	}
	if namespace.Labels[NamespaceLabel] == labelled {
		return nil
	}
	after := namespace.DeepCopy()
	metav1.SetMetaDataLabel(&after.ObjectMeta, NamespaceLabel, labelled)
	if err := r.Client.Patch(ctx, after, client.MergeFrom(namespace), fieldOwner); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("labeling namespace %s: %w", name, err)
	}
	return nil
}

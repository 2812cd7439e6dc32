package rescheduling

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
)

// swept is how often namespaces are looked at that need the webhook no longer. A label that stays too long costs a call per pod, and
// no more.
const swept = 10 * time.Minute

// Start looks at the labelled namespaces now and then, on the leader only.
func (r *Reconciler) Start(ctx context.Context) error {
	ticks := time.NewTicker(swept)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
			if err := r.Sweep(ctx); err != nil && ctx.Err() == nil {
				log.FromContext(ctx).Error(err, "Labels of namespaces are left as they are")
			}
		}
	}
}

// Sweep removes the label from namespaces that have nothing managed any more.
func (r *Reconciler) Sweep(ctx context.Context) error {
	namespaces := &metav1.PartialObjectMetadataList{}
	namespaces.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	if err := r.client.List(ctx, namespaces, client.MatchingLabels{NamespaceLabel: labelled}); err != nil {
		return fmt.Errorf("listing namespaces: %w", err)
	}
	for i := range namespaces.Items {
		needed, err := r.needed(ctx, namespaces.Items[i].Name)
		if err != nil {
			return err
		}
		if !needed {
			if err := r.setLabel(ctx, namespaces.Items[i].Name, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// needed tells whether the webhook has to be asked about the namespace's pods.
func (r *Reconciler) needed(ctx context.Context, namespace string) (bool, error) {
	var pods corev1.PodList
	if err := r.client.List(ctx, &pods, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("listing pods: %w", err)
	}
	for i := range pods.Items {
		s, err := r.observe(ctx, pods.Items[i].DeepCopy())
		if err != nil {
			return false, err
		}
		if s != nil && (r.config.Admission.Reach == settings.Managed || s.excludes()) {
			return true, nil
		}
	}
	return false, nil
}

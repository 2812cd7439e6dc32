package rescheduling

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/rescheduler/internal/owners"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
)

// swept is how often that is looked at which nobody needs any more. A label that stays too long costs a call per pod, and no more.
const swept = 10 * time.Minute

// Start sweeps now and then, on the leader only.
func (r *Reconciler) Start(ctx context.Context) error {
	ticks := time.NewTicker(swept)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
			if err := r.Sweep(ctx); err != nil && ctx.Err() == nil {
				log.FromContext(ctx).Error(err, "What nobody needs any more is left for the next time")
			}
		}
	}
}

// Sweep removes the label from namespaces that have nothing managed any more, and what is published there for workloads that are
// gone.
func (r *Reconciler) Sweep(ctx context.Context) error {
	if err := r.pruneFamily(ctx); err != nil {
		return err
	}
	namespaces := &metav1.PartialObjectMetadataList{}
	namespaces.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	if err := r.client.List(ctx, namespaces, client.MatchingLabels{NamespaceLabel: labelled}); err != nil {
		return fmt.Errorf("listing namespaces: %w", err)
	}
	var problems []error // one namespace's are not the others'
	for i := range namespaces.Items {
		problems = append(problems, r.sweep(ctx, namespaces.Items[i].Name))
	}
	return errors.Join(problems...)
}

// sweep one namespace. Those that are not looked at need nothing.
func (r *Reconciler) sweep(ctx context.Context, namespace string) error {
	only := r.config.Namespaces
	if slices.Contains(r.config.ExcludedNamespaces, namespace) || len(only) > 0 && !slices.Contains(only, namespace) {
		return r.setLabel(ctx, namespace, "")
	}
	if err := r.tidy(ctx, namespace); err != nil {
		return err
	}
	needed, err := r.needed(ctx, namespace)
	if err != nil || needed {
		return err
	}
	return r.setLabel(ctx, namespace, "")
}

func (r *Reconciler) pruneFamily(ctx context.Context) error {
	var pods corev1.PodList
	if err := r.client.List(ctx, &pods, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	have := map[types.UID]bool{}
	for i := range pods.Items {
		have[owners.ControllerUID(&pods.Items[i])] = true
	}
	r.family.prune(func(direct types.UID) bool { return have[direct] })
	return nil
}

// tidy publishes what the workloads of a namespace remember now, and nothing else.
func (r *Reconciler) tidy(ctx context.Context, namespace string) error {
	if r.config.Admission.Way != settings.Policy || r.config.DryRun {
		return nil
	}
	var problem error
	err := r.edit(ctx, namespace, func(data map[string]string) {
		var now map[string]string
		if now, problem = r.remembered(ctx, namespace); problem == nil {
			clear(data)
			maps.Copy(data, now)
		}
	})
	return errors.Join(err, problem)
}

// remembered are the entries of all controllers that have pods in the namespace.
func (r *Reconciler) remembered(ctx context.Context, namespace string) (map[string]string, error) {
	var pods corev1.PodList
	if err := r.client.List(ctx, &pods, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	all := map[string]string{}
	for i := range pods.Items {
		s, err := r.observe(ctx, pods.Items[i].DeepCopy())
		if err != nil {
			return nil, err
		}
		if s != nil && !s.bare() {
			maps.Copy(all, published(s.chain.Direct().UID, s))
		}
	}
	return all, nil
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

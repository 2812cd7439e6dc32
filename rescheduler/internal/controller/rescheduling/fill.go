package rescheduling

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/owners"
	"github.com/holdfast-project/holdfast/rescheduler/internal/placement"
)

// fillNews adds the exclusions that were just written to pods, or those that an earlier reconcile failed to add.
func (r *Reconciler) fillNews(ctx context.Context, s *scope, wrote bool) error {
	if _, behind := r.unfilled.Get(s.subject.UID); !wrote && !behind {
		return nil
	}
	err := r.fillFamily(ctx, s)
	if err != nil {
		r.unfilled.Add(s.subject.UID, nil)
	} else {
		r.unfilled.Remove(s.subject.UID)
	}
	return err
}

// fillFamily adds the exclusions to all pods of the workload that were admitted before the failure was recorded and are not bound yet. When
// the moves are used up, it removes the exclusions.
func (r *Reconciler) fillFamily(ctx context.Context, s *scope) error {
	if s.bare() {
		return nil
	}
	if s.memory.Exhausted {
		if err := r.fill(ctx, s, s.pod); err != nil {
			return err
		}
	}
	var problems []error // an error about one pod does not affect the others
	err := r.kin(ctx, s, func(pod *corev1.Pod) error {
		if pod.Spec.NodeName == "" && pod.DeletionTimestamp.IsZero() {
			problems = append(problems, r.fill(ctx, s, pod))
		}
		return nil
	})
	return errors.Join(append(problems, err)...)
}

// kin calls visit for each pod of the workload, regardless of which of its controllers owns the pod.
func (r *Reconciler) kin(ctx context.Context, s *scope, visit func(*corev1.Pod) error) error {
	for _, direct := range r.ownership.of(s.subject.UID) {
		var pods corev1.PodList
		if err := r.Client.List(ctx, &pods, client.InNamespace(s.pod.Namespace), byOwner(direct), client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("listing pods of the workload: %w", err)
		}
		for i := range pods.Items {
			if err := visit(&pods.Items[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// fill annotates a pod that is not bound yet. Only the plugin reads the annotation, because node affinity is immutable.
func (r *Reconciler) fill(ctx context.Context, s *scope, pod *corev1.Pod) error {
	have := memory.Hosts(pod.Annotations)
	if r.Config.DryRun || placement.Placed(pod) || s.bare() {
		return nil
	}
	m := s.memory
	if s.chain.OneTemplate(pod) {
		m = m.For(owners.Template(pod))
	}
	if m.Exhausted {
		if len(have) == 0 {
			return nil
		}
		return r.annotate(ctx, pod, "")
	}
	if liftedByPlugin(pod, have) {
		return nil
	}
	all, err := r.Nodes.List(ctx)
	if err != nil {
		return err
	}
	want := m.Exclusions(owners.Slot(pod), s.now, all.UID)
	if !slices.ContainsFunc(want, func(node string) bool { return !slices.Contains(have, node) }) {
		return nil
	}
	err = r.annotate(ctx, pod, memory.FormatHosts(memory.MergeHosts(want, have)))
	if err == nil {
		r.Metrics.filled()
	}
	return err
}

// liftedByPlugin reports whether the plugin rejected nodes for the pod and has since removed the annotation.
func liftedByPlugin(pod *corev1.Pod, have []string) bool {
	_, message, _ := unschedulable(pod)
	return len(have) == 0 && strings.Contains(message, memory.FilterMessage)
}

// annotate sets the pod's exclusions, or removes them if hosts is empty. If the pod has changed, the resulting event triggers another
// reconcile.
func (r *Reconciler) annotate(ctx context.Context, pod *corev1.Pod, hosts string) error {
	before := metadataOf(pod)
	after := before.DeepCopy()
	metav1.SetMetaDataAnnotation(&after.ObjectMeta, memory.HostsAnnotation, hosts)
	if hosts == "" {
		delete(after.Annotations, memory.HostsAnnotation)
	}
	err := r.Client.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), fieldOwner)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("annotating pod %s: %w", pod.Name, err)
	}
	return nil
}

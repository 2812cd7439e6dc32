package appwrapper

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/policy"
)

// observeRemains finds what is not gone yet. That nothing remains is believed only of live reads.
func (r *Reconciler) observeRemains(ctx context.Context, s *scope) error {
	for _, live := range []bool{false, true} {
		s.components, s.facts.Remains = nil, nil
		if err := r.lookForRemains(ctx, s, live); err != nil {
			return err
		}
		if len(s.facts.Remains) > 0 {
			return nil
		}
	}
	for i := range s.status.ComponentStatus {
		if entry := &s.status.ComponentStatus[i]; entry.Name != "" {
			setComponent(entry, v1beta2.ResourcesDeployed, false, v1beta2.ReasonComponentDeleted, "")
		}
	}
	return nil
}

func (r *Reconciler) lookForRemains(ctx context.Context, s *scope, live bool) error {
	for i := range s.status.ComponentStatus {
		if s.isGone(i) {
			s.components = append(s.components, wrapped{ref: s.reference(i)})
			continue
		}
		c, _, err := r.find(ctx, s, i, live)
		if err != nil {
			return err
		}
		s.components = append(s.components, c)
		switch c.presence {
		case policy.Absent:
		case policy.Unreadable:
			s.facts.Remains = append(s.facts.Remains, policy.Remains{Name: c.ref.String(), Blocked: "the controller is not allowed to read it"})
		default:
			s.facts.Remains = append(s.facts.Remains, policy.Remains{Name: c.ref.String(), Blocked: blockedBy(c.meta)})
		}
	}
	list, err := r.listPods(ctx, s.aw, live)
	if err != nil {
		return err
	}
	s.pods = list
	for _, pod := range list {
		s.facts.Remains = append(s.facts.Remains, policy.Remains{Name: podName(pod), Pod: true, Blocked: blockedBy(pod)})
	}
	return nil
}

// isGone: it was removed in this removal, refused, or never begun. A creation that failed otherwise may have made an object all the same.
func (s *scope) isGone(i int) bool {
	entry := &s.status.ComponentStatus[i]
	c := meta.FindStatusCondition(entry.Conditions, string(v1beta2.ResourcesDeployed))
	if c == nil || entry.Name == "" {
		return true
	}
	return c.Status == metav1.ConditionFalse && (c.Reason == v1beta2.ReasonComponentDeleted || c.Reason == v1beta2.ReasonComponentCreationRefused)
}

func podName(pod *corev1.Pod) string {
	if pod.Spec.NodeName == "" {
		return "Pod " + pod.Name
	}
	return fmt.Sprintf("Pod %s on %s", pod.Name, pod.Spec.NodeName)
}

// blockedBy names the finalizers that an object which is being deleted waits for.
func blockedBy(object metav1.Object) string {
	if object.GetDeletionTimestamp() == nil || len(object.GetFinalizers()) == 0 {
		return ""
	}
	return "finalizer " + strings.Join(object.GetFinalizers(), ", ")
}

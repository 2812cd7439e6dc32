package jobset

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
)

// readAttempts reads the attempts reported by the agents of restartStrategy InPlaceRestart.
func (r *Reconciler) readAttempts(ctx context.Context, s *scope) error {
	if !r.Features.InPlaceRestart || !policy.UsesAttempts(&s.jobSet.Spec) || s.finished() {
		return nil
	}
	var pods corev1.PodList
	err := r.Client.List(ctx, &pods, client.InNamespace(s.jobSet.Namespace),
		client.MatchingFields{podIndex: string(s.jobSet.UID)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	attempts := policy.ReadAttempts(&s.jobSet.Spec, s.jobs, pods.Items)
	s.attempts = &attempts
	return nil
}

func (s *scope) restartsInPlace() bool { return s.attempts != nil && s.attempts.Restarting() }

// setAttempts sets the attempts that the agents must follow.
func (s *scope) setAttempts(status *v1alpha2.JobSetStatus) {
	if s.attempts == nil {
		return
	}
	status.PreviousInPlaceRestartAttempt, status.CurrentInPlaceRestartAttempt = s.attempts.Next(&s.jobSet.Status, s.suspended())
	if s.restartsInPlace() && !s.suspended() {
		s.setTrue(status, v1alpha2.JobSetRestartingInPlace, warning(v1alpha2.InPlaceAttemptReason, fmt.Sprintf(
			"all pods are restarting in place to join attempt %d", s.attempts.Highest)))
	}
}

package webhook

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/exclusive"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

// +kubebuilder:webhook:path=/mutate--v1-pod,mutating=true,failurePolicy=fail,sideEffects=None,groups="",resources=pods,verbs=create,versions=v1,name=mpod.kb.io,admissionReviewVersions=v1,serviceName=jobset-webhook-service
// +kubebuilder:webhook:path=/validate--v1-pod,mutating=false,failurePolicy=fail,sideEffects=None,groups="",resources=pods,verbs=create,versions=v1,name=vpod.kb.io,admissionReviewVersions=v1,serviceName=jobset-webhook-service

// Domains looks up the topology domain of a Job's pods, and whether a leader will appear; see placement.Domains.
type Domains interface {
	LeaderIsOver(ctx context.Context, job types.NamespacedName, uid types.UID) (bool, error)
	Of(ctx context.Context, job types.UID, topology string) (string, error)
}

// RegisterPod serves the webhooks that place the pods of JobSets exclusively.
func RegisterPod(mgr ctrl.Manager, domains Domains) error {
	w := pods{domains: domains}
	return ctrl.NewWebhookManagedBy(mgr, &corev1.Pod{}).WithDefaulter(w).WithValidator(w).Complete()
}

type pods struct {
	bootstrap.NoValidation[*corev1.Pod]
	domains Domains
}

// Default makes a pod a leader or a follower. It ignores a pod whose controller is not a Job, regardless of its
// annotations.
func (w pods) Default(ctx context.Context, pod *corev1.Pod) error {
	job := metav1.GetControllerOfNoCopy(pod)
	topology := exclusive.Topology(pod)
	if topology == "" || job == nil || job.Kind != "Job" {
		return nil
	}
	delete(pod.Annotations, exclusive.LeaderKey) // may have been copied from another pod
	if exclusive.Leads(pod) {
		exclusive.Prepare(pod, "", false)
		return nil
	}
	domain, err := w.domains.Of(ctx, job.UID, topology)
	if err != nil {
		return fmt.Errorf("finding the topology domain of job %s: %w", job.Name, err)
	}
	over, err := w.domains.LeaderIsOver(ctx, types.NamespacedName{Namespace: bootstrap.NamespaceOf(ctx, pod), Name: job.Name}, job.UID)
	if err != nil {
		return fmt.Errorf("finding the leader pod of job %s: %w", job.Name, err)
	}
	exclusive.Prepare(pod, domain, over)
	return nil
}

// ValidateCreate rejects a pod if another webhook has changed it so that it could run in any domain.
func (w pods) ValidateCreate(_ context.Context, pod *corev1.Pod) (admission.Warnings, error) {
	job := metav1.GetControllerOfNoCopy(pod)
	if exclusive.Topology(pod) == "" || job == nil || job.Kind != "Job" || exclusive.Prepared(pod) {
		return nil, nil
	}
	return nil, apierrors.NewForbidden(corev1.Resource("pods"), pod.Name, fmt.Errorf(
		"it requests exclusive placement in %s, and another client removed the settings that the JobSet controller added for it", exclusive.Topology(pod)))
}

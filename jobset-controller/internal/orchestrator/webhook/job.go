// Package webhook prepares Jobs and pods for in-place restarts when they are created: the Jobs of JobSets managed by
// the upstream controller, Indexed Jobs without a JobSet, and pods that declare a group.
package webhook

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/owners"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/beside"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

//go:generate env GOWORK=off go tool -modfile=../../../../tools/codegen/go.mod controller-gen rbac:roleName=orchestrator-role,fileName=orchestrator.yaml paths=. paths=.. output:rbac:dir=../../../../charts/holdfast-inplace/files/rbac
//go:generate env GOWORK=off go tool -modfile=../../../../tools/codegen/go.mod controller-gen webhook paths=. output:webhook:dir=../../../../charts/holdfast-inplace/files/webhook

// +kubebuilder:webhook:path=/mutate-batch-v1-job,mutating=true,failurePolicy=ignore,sideEffects=None,groups=batch,resources=jobs,verbs=create,versions=v1,name=mjob.holdfast.dev,admissionReviewVersions=v1,serviceName=holdfast-inplace-webhook-service
// +kubebuilder:webhookconfiguration:mutating=true,name=holdfast-inplace

// In addition to the permissions of every orchestrator: move Jobs to the next epoch, maintain a certificate, and check
// who reads the metrics.
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=patch
// +kubebuilder:rbac:groups=batch,resources=jobs/status,verbs=patch
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups="",resources=secrets,namespace=system,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=secrets,resourceNames=holdfast-inplace-webhook-server-cert,namespace=system,verbs=get;update
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,verbs=list;watch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,resourceNames=holdfast-inplace,verbs=get;update

type Jobs struct {
	Client client.Reader // reads the existing Jobs
	Live   client.Reader // reads the JobSet, whose annotations and status determine the generation
	// Agents configures what the webhook adds. Installation is the name of the installation whose orchestrator leads the groups.
	Agents       inject.Settings
	Installation string
}

// Default prepares a Job that requests in-place restarts, or whose JobSet does. An error rejects the Job, and its owner
// tries again.
func (w *Jobs) Default(ctx context.Context, job *batchv1.Job) error {
	owner := metav1.GetControllerOfNoCopy(job)
	if !owners.IsJobSet(owner) {
		// The pods' annotations and the Secret of their agents depend on the Job's name, so the Job gets a name here.
		if nameIt(job) {
			beside.Alone(job, w.Agents, w.Installation)
		}
		return nil
	}
	js := &v1alpha2.JobSet{}
	err := w.Live.Get(ctx, types.NamespacedName{Namespace: bootstrap.NamespaceOf(ctx, job), Name: owner.Name}, js)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading the JobSet: %w", err)
	}
	if err != nil || js.UID != owner.UID || !policy.ReadInPlace(js.Annotations).Enabled {
		return nil
	}
	jobs, err := owners.Jobs(ctx, w.Client, js)
	if err != nil {
		return err
	}
	current := policy.CurrentJobs(js, jobs, beside.Epoch(js))
	beside.Prepare(js, current, job, w.Agents, w.Installation)
	return nil
}

// nameIt sets the name that the API server would generate, and reports whether the object has a name. The API server
// rejects an object that has neither a name nor a prefix.
func nameIt(obj metav1.Object) bool {
	if obj.GetName() == "" && obj.GetGenerateName() != "" {
		obj.SetName(names.SimpleNameGenerator.GenerateName(obj.GetGenerateName()))
	}
	return obj.GetName() != ""
}

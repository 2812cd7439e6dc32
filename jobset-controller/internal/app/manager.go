// Package app wires the JobSet manager: its flags, its caches and what runs in it.
package app

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/controller/jobset"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,namespace=system,verbs=get;create;update
// +kubebuilder:rbac:groups="",resources=secrets,namespace=system,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=secrets,resourceNames=jobset-webhook-server-cert,namespace=system,verbs=get;update
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations;mutatingwebhookconfigurations,verbs=list;watch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations,resourceNames=jobset-validating-webhook-configuration,verbs=get;update
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,resourceNames=jobset-mutating-webhook-configuration,verbs=get;update

// Run manages JobSets until ctx ends. It returns an error if the cluster lacks the definition of JobSets.
func (o *Options) Run(ctx context.Context, cluster *rest.Config) error {
	return bootstrap.Manage(ctx, cluster, &o.Options, bootstrap.Setup{
		Program: "jobset", Scheme: NewScheme(), Cache: jobset.CacheOptions(),
		Webhooks: o.addWebhooks,
	}, o.addControllers, v1alpha2.GroupVersion.WithKind("JobSet"))
}

// NewScheme returns a scheme with the kinds that the manager reads and writes.
func NewScheme() *runtime.Scheme { return bootstrap.NewScheme(v1alpha2.AddToScheme) }

package plan

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
)

// Ports of the managed rendezvous server.
const (
	RendezvousPort        = 29400
	RendezvousMetricsPort = 8080
)

// Managed reports whether the operator runs the job's rendezvous.
func Managed(job *v1alpha1.ElasticJob) bool { return job.Spec.RdzvEndpoint == "" }

// Endpoint returns the workers' rendezvous endpoint.
func Endpoint(job *v1alpha1.ElasticJob) string {
	if Managed(job) {
		return fmt.Sprintf("%s:%d", RendezvousName(job.Name), RendezvousPort)
	}
	return job.Spec.RdzvEndpoint
}

// Backend returns the workers' rendezvous backend.
func Backend(job *v1alpha1.ElasticJob) v1alpha1.RendezvousBackend {
	switch {
	case Managed(job): // the only backend that the managed server supports
		return v1alpha1.BackendC10d
	case job.Spec.RdzvBackend != "":
		return job.Spec.RdzvBackend
	}
	return v1alpha1.BackendEtcd
}

// RunID returns the workers' rendezvous ID. It is based on the UID because job names may be reused. It changes when the job is resumed,
// because a rendezvous that was closed by departing workers stays closed.
func RunID(job *v1alpha1.ElasticJob, resumes int32) string {
	if resumes == 0 {
		return string(job.UID)
	}
	return fmt.Sprintf("%s-%d", job.UID, resumes)
}

// RendezvousName returns the name of the server's pod and service.
func RendezvousName(job string) string { return job + "-" + v1alpha1.ReplicaTypeRendezvous }

func rendezvousLabels(job string) labels.Set { return labelsOf(job, v1alpha1.ReplicaTypeRendezvous) }

// RendezvousPod returns the server pod of a job. A restart of the server restarts all workers, so the pod has no liveness probe, and its
// annotations ask autoscalers not to evict it. It has the tolerations and the priority of the workers, so that it can run on their nodes and
// is not preempted before them. Its image is pulled with pullSecrets and the workers' pull Secrets.
func RendezvousPod(job *v1alpha1.ElasticJob, image string, pullSecrets []string, resumes int32) *corev1.Pod {
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
		HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(RendezvousMetricsPort)},
	}, PeriodSeconds: 5}
	workers := job.Spec.ReplicaSpecs.Worker.Template.Spec.DeepCopy()
	supervise.AddPullSecrets(workers, pullSecrets)
	meta := owned(job, RendezvousName(job.Name), rendezvousLabels(job.Name))
	meta.Annotations = map[string]string{"cluster-autoscaler.kubernetes.io/safe-to-evict": "false", "karpenter.sh/do-not-disrupt": "true"}
	return &corev1.Pod{
		ObjectMeta: meta,
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken:  ptr.To(false),
			EnableServiceLinks:            ptr.To(false),
			TerminationGracePeriodSeconds: ptr.To(int64(5)),
			Tolerations:                   workers.Tolerations,
			PriorityClassName:             workers.PriorityClassName,
			ImagePullSecrets:              workers.ImagePullSecrets,
			Containers: []corev1.Container{{
				Name: v1alpha1.ReplicaTypeRendezvous, Image: image, ImagePullPolicy: corev1.PullIfNotPresent,
				Args: []string{
					fmt.Sprintf("--listen=:%d", RendezvousPort), fmt.Sprintf("--metrics=:%d", RendezvousMetricsPort),
					"--run-id=" + RunID(job, resumes),
				},
				Ports: []corev1.ContainerPort{
					{Name: "rendezvous", ContainerPort: RendezvousPort, Protocol: corev1.ProtocolTCP},
					{Name: "metrics", ContainerPort: RendezvousMetricsPort, Protocol: corev1.ProtocolTCP},
				},
				ReadinessProbe: probe,
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("32Mi")},
					Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")},
				},
				SecurityContext: supervise.Restricted(),
			}},
		},
	}
}

// RendezvousService returns the service that gives the server a stable name and address.
func RendezvousService(job *v1alpha1.ElasticJob) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: owned(job, RendezvousName(job.Name), rendezvousLabels(job.Name)),
		Spec: corev1.ServiceSpec{
			Selector: rendezvousLabels(job.Name),
			Ports: []corev1.ServicePort{
				{Name: "rendezvous", Port: RendezvousPort, TargetPort: intstr.FromInt32(RendezvousPort), Protocol: corev1.ProtocolTCP},
				{Name: "metrics", Port: RendezvousMetricsPort, TargetPort: intstr.FromInt32(RendezvousMetricsPort), Protocol: corev1.ProtocolTCP},
			},
		},
	}
}

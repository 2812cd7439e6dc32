package plan

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// RunIDFlag is the flag of the server that names the run it serves, up to the value.
const RunIDFlag = "--run-id="

// Managed reports whether the operator runs the rendezvous of the job.
func Managed(job *v1alpha1.ElasticJob) bool { return job.Spec.RdzvEndpoint == "" }

// Endpoint at which the workers meet.
func Endpoint(job *v1alpha1.ElasticJob) string {
	if Managed(job) {
		return fmt.Sprintf("%s:%d", RendezvousName(job.Name), RendezvousPort)
	}
	return job.Spec.RdzvEndpoint
}

// Backend is what the workers speak.
func Backend(job *v1alpha1.ElasticJob) v1alpha1.RendezvousBackend {
	switch {
	case Managed(job): // the server speaks nothing else
		return v1alpha1.BackendC10d
	case job.Spec.RdzvBackend != "":
		return job.Spec.RdzvBackend
	}
	return v1alpha1.BackendEtcd
}

// RunID is what tells one rendezvous from another: the name of a job may have been used before, and a rendezvous that leaving workers
// have closed is closed for good.
func RunID(job *v1alpha1.ElasticJob, resumes int32) string {
	if resumes == 0 {
		return string(job.UID)
	}
	return fmt.Sprintf("%s-%d", job.UID, resumes)
}

// RendezvousName is that of the server's pod and service.
func RendezvousName(job string) string { return job + "-" + v1alpha1.ReplicaTypeRendezvous }

func rendezvousLabels(job string) map[string]string {
	return map[string]string{
		v1alpha1.GroupNameLabel: v1alpha1.GroupName, v1alpha1.JobNameLabel: job, v1alpha1.ReplicaTypeLabel: v1alpha1.ReplicaTypeRendezvous,
	}
}

// StatusURL of the server.
func StatusURL(job *v1alpha1.ElasticJob, address string) string {
	return fmt.Sprintf("http://%s:%d/status", address, RendezvousMetricsPort)
}

// RendezvousPod is the server of a job. Its end restarts all workers, so that it has no liveness probe, and autoscalers are asked not to
// evict it. It may run where the workers may, is preempted no sooner, and its image is pulled with their secrets and with
// pullSecrets: in a cluster whose nodes
// are all tainted it could not run otherwise.
func RendezvousPod(job *v1alpha1.ElasticJob, image string, pullSecrets []string, resumes int32) *corev1.Pod {
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
		HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(RendezvousMetricsPort)},
	}, PeriodSeconds: 5}
	workers := job.Spec.ReplicaSpecs.Worker.Template.Spec.DeepCopy()
	supervise.AddPullSecrets(workers, pullSecrets)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: RendezvousName(job.Name), Namespace: job.Namespace, Labels: rendezvousLabels(job.Name), OwnerReferences: owner(job),
			Annotations: map[string]string{"cluster-autoscaler.kubernetes.io/safe-to-evict": "false", "karpenter.sh/do-not-disrupt": "true"},
		},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken:  ptr.To(false),
			EnableServiceLinks:            ptr.To(false),
			TerminationGracePeriodSeconds: ptr.To(int64(5)),
			Tolerations:                   workers.Tolerations,
			PriorityClassName:             workers.PriorityClassName,
			ImagePullSecrets:              workers.ImagePullSecrets,
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To(int64(65532)), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: v1alpha1.ReplicaTypeRendezvous, Image: image, ImagePullPolicy: corev1.PullIfNotPresent,
				Args: []string{
					fmt.Sprintf("--listen=:%d", RendezvousPort), fmt.Sprintf("--metrics=:%d", RendezvousMetricsPort),
					RunIDFlag + RunID(job, resumes),
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
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
}

// RendezvousService gives the server a name and an address that outlive its pod.
func RendezvousService(job *v1alpha1.ElasticJob) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: RendezvousName(job.Name), Namespace: job.Namespace, Labels: rendezvousLabels(job.Name), OwnerReferences: owner(job),
		},
		Spec: corev1.ServiceSpec{
			Selector: rendezvousLabels(job.Name),
			Ports: []corev1.ServicePort{
				{Name: "rendezvous", Port: RendezvousPort, TargetPort: intstr.FromInt32(RendezvousPort), Protocol: corev1.ProtocolTCP},
				{Name: "metrics", Port: RendezvousMetricsPort, TargetPort: intstr.FromInt32(RendezvousMetricsPort), Protocol: corev1.ProtocolTCP},
			},
		},
	}
}

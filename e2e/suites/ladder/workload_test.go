//go:build e2e && e2e_all

package ladder

import (
	"cmp"
	"encoding/json"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
)

// settings configure a workload.
type settings struct {
	restarts int32 // of the JobSet
	resets   int32
	// timeout of in-place restarts; default 15s
	timeout string
	// moves is the number of moves that the rescheduler may make; empty: none
	moves string
}

// wrap returns an AppWrapper with short grace periods, so that anything mistaken for a failure soon causes a reset.
func (r *run) wrap(o settings, component any) *v1beta2.AppWrapper {
	r.Helper()
	raw, err := json.Marshal(component)
	r.must(err)
	aw := &v1beta2.AppWrapper{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: r.ns, Labels: map[string]string{v1beta2.QueueLabel: "queue"}, Annotations: map[string]string{
			v1beta2.RetryPausePeriodKey: "1s", v1beta2.FailureGracePeriodKey: "1s", v1beta2.RetryLimitKey: strconv.Itoa(int(o.resets)),
		}},
		Spec: v1beta2.AppWrapperSpec{Components: []v1beta2.AppWrapperComponent{{Template: runtime.RawExtension{Raw: raw}}}},
	}
	if o.moves != "" {
		aw.Annotations[memory.RetriesAnnotation] = o.moves
	}
	return aw
}

// jobSet returns the example with one annotation.
func (r *run) jobSet(o settings) *v1alpha2.JobSet {
	r.Helper()
	js, err := r.Load("", r.File("examples", "one-annotation.yaml"))
	r.must(err)
	js.Name = name
	js.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha2.GroupVersion.String(), Kind: "JobSet"}
	js.Annotations[v1alpha2.InPlaceTimeoutKey] = cmp.Or(o.timeout, "15s")
	js.Spec.FailurePolicy.MaxRestarts = o.restarts
	pod := &js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec
	pod.TerminationGracePeriodSeconds = ptr.To[int64](4)
	pod.Containers[0].Resources = needs()
	return js
}

// needs returns a worker's resources: some CPU and a GPU.
func needs() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")}, Limits: corev1.ResourceList{gpu: resource.MustParse("1")},
	}
}

// elasticWorkers is the number of workers. The job continues with elasticLeast or more.
const (
	elasticWorkers = 4
	elasticLeast   = 2
)

// wrapElastic declares the pod sets, because Kueue does not know this kind. Otherwise the AppWrapper manager's webhook
// would write them.
func (r *run) wrapElastic(o settings, job *v1alpha1.ElasticJob) *v1beta2.AppWrapper {
	r.Helper()
	aw := r.wrap(o, job)
	aw.Spec.Components[0].DeclaredPodSets = []v1beta2.AppWrapperPodSet{
		{Replicas: job.Spec.ReplicaSpecs.Worker.Replicas, Path: "template.spec.replicaSpecs.Worker.template"},
	}
	return aw
}

// elasticJob returns an ElasticJob whose workers run until they are asked to stop.
func (r *run) elasticJob(restart v1alpha1.RestartPolicy, change func(*v1alpha1.ElasticJobSpec)) *v1alpha1.ElasticJob {
	job := &v1alpha1.ElasticJob{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ElasticJob"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.ElasticJobSpec{
			RdzvEndpoint: "none:2379", MinReplicas: ptr.To[int32](elasticLeast), MaxReplicas: ptr.To[int32](elasticWorkers),
			ReplicaSpecs: v1alpha1.ReplicaSpecs{Worker: v1alpha1.ReplicaSpec{
				Replicas: ptr.To[int32](elasticWorkers), RestartPolicy: restart,
				Template: v1alpha1.PodTemplate{PodTemplateSpec: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: ptr.To[int64](1),
					Containers: []corev1.Container{{
						Name: "worker", Image: "localhost/holdfast/worker:dev", ImagePullPolicy: corev1.PullIfNotPresent, Resources: needs(),
					}},
				}}},
			}},
		},
	}
	change(&job.Spec)
	return job
}

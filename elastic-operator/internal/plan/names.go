package plan

import (
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

// most is more than any job has; a label beyond it is not ours.
const most = 100_000

// WorkerName is the name of the pod of a worker, and of its service.
func WorkerName(job string, index int) string {
	return fmt.Sprintf("%s-%s-%d", job, v1alpha1.ReplicaTypeWorker, index)
}

// WorkerLabels of the pod of a worker and of its service; the selector of the service too.
func WorkerLabels(job string, index int) map[string]string {
	return map[string]string{
		v1alpha1.GroupNameLabel:    v1alpha1.GroupName,
		v1alpha1.JobNameLabel:      job,
		v1alpha1.ReplicaTypeLabel:  v1alpha1.ReplicaTypeWorker,
		v1alpha1.ReplicaIndexLabel: strconv.Itoa(index),
	}
}

// Selector of all workers of a job, as text.
func Selector(job string) string {
	all := WorkerLabels(job, 0)
	delete(all, v1alpha1.ReplicaIndexLabel)
	return labels.Set(all).String()
}

// IndexOf a worker's pod or service: what its label says, if its name agrees. Anything else is none of ours, whatever its owner.
func IndexOf(o metav1.Object, job string) (int, bool) {
	if o.GetLabels()[v1alpha1.ReplicaTypeLabel] != v1alpha1.ReplicaTypeWorker {
		return 0, false
	}
	index, err := strconv.Atoi(o.GetLabels()[v1alpha1.ReplicaIndexLabel])
	if err != nil || index < 0 || index >= most || o.GetName() != WorkerName(job, index) {
		return 0, false
	}
	return index, true
}

func owner(job *v1alpha1.ElasticJob) []metav1.OwnerReference {
	return []metav1.OwnerReference{*metav1.NewControllerRef(job, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))}
}

package plan

import (
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/indexes"
)

// WorkerName returns the name of a worker's pod and service.
func WorkerName(job string, index int) string {
	return fmt.Sprintf("%s-%s-%d", job, v1alpha1.ReplicaTypeWorker, index)
}

// WorkerLabels returns the labels of a worker's pod and service, which are also the selector of the service.
func WorkerLabels(job string, index int) map[string]string {
	return map[string]string{
		v1alpha1.GroupNameLabel:    v1alpha1.GroupName,
		v1alpha1.JobNameLabel:      job,
		v1alpha1.ReplicaTypeLabel:  v1alpha1.ReplicaTypeWorker,
		v1alpha1.ReplicaIndexLabel: strconv.Itoa(index),
	}
}

// Selector returns the label selector of all workers of a job.
func Selector(job string) string {
	all := WorkerLabels(job, 0)
	delete(all, v1alpha1.ReplicaIndexLabel)
	return labels.Set(all).String()
}

// IndexOf returns the worker index of a pod or service. It returns false if the label and the name do not match each other, whatever the
// owner of the object.
func IndexOf(o metav1.Object, job string) (int, bool) {
	if o.GetLabels()[v1alpha1.ReplicaTypeLabel] != v1alpha1.ReplicaTypeWorker {
		return 0, false
	}
	index, err := strconv.Atoi(o.GetLabels()[v1alpha1.ReplicaIndexLabel])
	if err != nil || index < 0 || index >= indexes.Max || o.GetName() != WorkerName(job, index) {
		return 0, false
	}
	return index, true
}

func owner(job *v1alpha1.ElasticJob) []metav1.OwnerReference {
	return []metav1.OwnerReference{*metav1.NewControllerRef(job, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))}
}

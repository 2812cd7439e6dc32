package plan

import (
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
)

// StageQueue returns the queue in which each Job of the JobSet waits by itself from its creation, or "" if there is none. A JobSet
// that waits in a queue as a whole gets its quota there, including that of later stages.
func StageQueue(js *v1alpha2.JobSet) string {
	if policy.Queued(js) {
		return ""
	}
	return js.Annotations[v1alpha2.StageQueueKey]
}

// enqueue assigns a new Job to its queue. The Job is created suspended, and the queue's manager resumes it.
func enqueue(job *batchv1.Job, js *v1alpha2.JobSet) {
	queue := StageQueue(js)
	if queue == "" {
		return
	}
	metav1.SetMetaDataLabel(&job.ObjectMeta, v1alpha2.QueueNameLabel, queue)
	if class := js.Labels[v1alpha2.PriorityClassLabel]; class != "" {
		metav1.SetMetaDataLabel(&job.ObjectMeta, v1alpha2.PriorityClassLabel, class)
	}
	job.Spec.Suspend = ptr.To(true)
}

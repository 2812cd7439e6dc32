package exclusive

import (
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
)

// LeaderKey is the annotation of a pod that leads although its index is not 0.
const LeaderKey = "holdfast.dev/exclusive-leader"

const leaderIndex = 0

// LeaderIsOver reports whether the Job controller will create no more pods with index 0, because the index has completed or failed
// for good.
func LeaderIsOver(job *batchv1.Job) bool {
	return inplace.HasIndex(job.Status.CompletedIndexes, leaderIndex) || inplace.HasIndex(ptr.Deref(job.Status.FailedIndexes, ""), leaderIndex)
}

// Leads reports whether the scheduler chooses the domain for this pod.
func Leads(pod metav1.Object) bool {
	index, indexed := pod.GetAnnotations()[batchv1.JobCompletionIndexAnnotation]
	_, elected := pod.GetAnnotations()[LeaderKey]
	return !indexed || index == strconv.Itoa(leaderIndex) || elected
}

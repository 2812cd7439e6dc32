package exclusive

import (
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/completion"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
)

// LeaderKey is the annotation of a pod that leads in place of the one with index 0, which will not be created again. Elect alone writes it.
const LeaderKey = "holdfast.dev/exclusive-leader"

// Run is what the status of a Job says about the pods to come.
type Run struct {
	// Halted: the Job is suspended, or is being resumed: the Job controller creates its pods before it reports that.
	Halted bool
	// First is the lowest completion index that has neither completed nor failed for good. Its pod leads.
	First int
}

// RunOf reads the status of a Job.
func RunOf(job *batchv1.Job) Run {
	return Run{First: firstNotIn(job.Status.CompletedIndexes, ptr.Deref(job.Status.FailedIndexes, "")), Halted: policy.ReportedSuspended(job)}
}

// Current leaves out succeeded pods when index 0 will not be created again, or the Job was suspended. The scheduler counts running pods only, so
// that another Job may be in their domain by now.
func (r Run) Current(pods []*corev1.Pod) []*corev1.Pod {
	if r.First == 0 && !r.Halted {
		return pods
	}
	return slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
}

// Spares tells whether one pod of the Job may be deleted without an end of the Job or of the pod's index: each deletion is a failure to the
// Job controller, unless a podFailurePolicy says otherwise.
func Spares(job *batchv1.Job) bool {
	return job.Spec.BackoffLimitPerIndex == nil && job.Status.Failed < ptr.Deref(job.Spec.BackoffLimit, defaultBackoffLimit)
}

// defaultBackoffLimit is the API's.
const defaultBackoffLimit = 6

// Elect makes the pod of the first index that is not over the leader, because the Job controller makes none with index 0 again.
func (r Run) Elect(pod metav1.Object) {
	annotations := pod.GetAnnotations()
	delete(annotations, LeaderKey) // of the pod that this one is a copy of, or of a template
	if r.First > 0 && annotations[batchv1.JobCompletionIndexAnnotation] == strconv.Itoa(r.First) {
		annotations[LeaderKey] = "true"
	}
}

// Heir is the follower that has to lead, because nobody that it waits for will come: it was made when the end of the leader was not
// known yet. nil where there is a leader, or a pod that runs.
func (r Run) Heir(pods []*corev1.Pod) *corev1.Pod {
	if r.First == 0 || Anchor(pods) != nil || Leader(pods) != nil {
		return nil
	}
	i := slices.IndexFunc(pods, func(p *corev1.Pod) bool {
		return lives(p) && Held(p) && p.Annotations[batchv1.JobCompletionIndexAnnotation] == strconv.Itoa(r.First)
	})
	if i < 0 {
		return nil
	}
	return pods[i]
}

// firstNotIn is the lowest index in none of the lists, which are as in a Job's status: "0,2-4".
func firstNotIn(lists ...string) int {
	first := 0
	for found := true; found; {
		found = false
		for _, list := range lists {
			if last, in := holds(list, first); in {
				first, found = last+1, true
			}
		}
	}
	return first
}

// holds gives the last index of the range that the index is in.
func holds(list string, index int) (last int, in bool) {
	for first, last := range completion.Ranges(list) {
		if first > index {
			break
		}
		if index <= last {
			return last, true
		}
	}
	return 0, false
}

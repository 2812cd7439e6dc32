package read

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Labels of the pods of an ElasticJob.
const (
	replicaTypeLabel  = "replica-type"
	replicaIndexLabel = "replica-index"
	replicaTypeWorker = "worker"
)

// Workers are the pods that are there for the work. Rigid ones are needed, all of them; of elastic ones, those of ElasticJobs, the job
// itself says whether they are enough. Neither has the rendezvous server of an ElasticJob, nor a worker that it has given up, whose pod is
// kept for its logs, nor a pod that failed and has been replaced.
func (w *Workload) Workers() (rigid, elastic []corev1.Pod) {
	for i := range w.Pods {
		pod := &w.Pods[i]
		switch job := w.elasticJobOf(pod); {
		case job == nil:
			rigid = append(rigid, *pod)
		case wanted(pod, job):
			elastic = append(elastic, *pod)
		}
	}
	return standing(rigid), elastic
}

// elasticJobOf is the ElasticJob whose pod it is, nil if it is none's. UIDs decide.
func (w *Workload) elasticJobOf(pod *corev1.Pod) *unstructured.Unstructured {
	ref := metav1.GetControllerOf(pod)
	if ref == nil {
		return nil
	}
	for _, o := range w.Objects {
		if o.GroupVersionKind().Group == elasticGroup && o.GetUID() == ref.UID {
			return o
		}
	}
	return nil
}

// wanted: a worker that was not given up.
func wanted(pod *corev1.Pod, job *unstructured.Unstructured) bool {
	if pod.Labels[replicaTypeLabel] != replicaTypeWorker {
		return false
	}
	index, err := strconv.ParseInt(pod.Labels[replicaIndexLabel], 10, 32)
	failed, _, _ := unstructured.NestedString(job.Object, "status", "failedIndexes")
	return err != nil || !among(int32(index), failed)
}

// among tells whether an index is one of those that an ElasticJob writes as "0-3,7". A part that cannot be read names nobody.
func among(index int32, list string) bool {
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, errFrom := strconv.ParseInt(first, 10, 32)
		to, errTo := strconv.ParseInt(last, 10, 32)
		if errFrom == nil && errTo == nil && int64(index) >= from && int64(index) <= to {
			return true
		}
	}
	return false
}

package elasticjob

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
)

// Reasons of events about pods and services: the published ones.
const (
	reasonCreatedPod          = "SuccessfulCreatePod"
	reasonDeletedPod          = "SuccessfulDeletePod"
	reasonCreatedService      = "SuccessfulCreateService"
	reasonDeletedService      = "SuccessfulDeleteService"
	reasonFailedCreatePod     = "FailedCreatePod"
	reasonFailedDeletePod     = "FailedDeletePod"
	reasonFailedCreateService = "FailedCreateService"
	reasonFailedDeleteService = "FailedDeleteService"
	reasonRestartPolicy       = "SettedPodTemplateRestartPolicy"

	actionCreate = "Create"
	actionDelete = "Delete"
	actionRead   = "ReadTemplate"

	// maxNote is what the events API accepts; a longer note loses the whole event.
	maxNote = 1024
)

// tell of something that was done to an object. Naming the object keeps events of different ones apart: otherwise they are counted as one.
func (r *Reconciler) tell(job *v1alpha1.ElasticJob, about runtime.Object, reason, action, note string, args ...any) {
	r.Recorder.Eventf(job, about, corev1.EventTypeNormal, reason, action, note, args...)
}

func (r *Reconciler) warn(job *v1alpha1.ElasticJob, reason, action, note string, args ...any) {
	for i, arg := range args {
		if err, is := arg.(error); is {
			args[i] = cut(err.Error(), maxNote-200)
		}
	}
	r.Recorder.Eventf(job, nil, corev1.EventTypeWarning, reason, action, note, args...)
}

// followUp is what comes after the status was written: it was written onto a version that did not have it, so each thing is said and counted
// once.
func (r *Reconciler) followUp(s *scope, d *policy.Decision) {
	if s.facts.Memory.Started.IsZero() && s.job.Spec.ReplicaSpecs.Worker.Template.Spec.RestartPolicy != "" && !d.Memory.Started.IsZero() {
		r.warn(s.job, reasonRestartPolicy, actionRead, "The restartPolicy of the pod template has no effect: that of replicaSpecs.Worker holds")
	}
	for _, e := range d.Events {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		var about runtime.Object
		if e.Pod != "" {
			about = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.job.Namespace, Name: e.Pod}}
		}
		r.Recorder.Eventf(s.job, about, kind, e.Reason, e.Action, "%s", cut(e.Note, maxNote))
	}
	r.Metrics.count(s, d)
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n]
}

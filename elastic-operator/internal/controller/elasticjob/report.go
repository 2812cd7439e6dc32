package elasticjob

import (
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
	"github.com/holdfast-project/holdfast/shared/bootstrap/meter"
	"github.com/holdfast-project/holdfast/shared/notes"
	"github.com/holdfast-project/holdfast/shared/series"
)

// reasons holds the event reasons for one kind of object. They match those of the upstream controller.
type reasons struct {
	kind, noun                                   string
	created, deleted, failedCreate, failedDelete string
}

var (
	ofPods     = reasons{"Pod", "pod", "SuccessfulCreatePod", "SuccessfulDeletePod", "FailedCreatePod", "FailedDeletePod"}
	ofServices = reasons{"Service", "service", "SuccessfulCreateService", "SuccessfulDeleteService", "FailedCreateService", "FailedDeleteService"}
)

const (
	reasonRestartPolicy = "SettedPodTemplateRestartPolicy"
	eventAction         = "Reconciling"
)

// emit emits an event about a job and a related object, if any. Without the related object, events about different objects would be merged
// into a series.
func (r *Reconciler) emit(job *v1alpha1.ElasticJob, related runtime.Object, kind, reason, note string) {
	r.Recorder.Eventf(job, related, kind, reason, eventAction, "%s", notes.Truncate(note, notes.MaxLength))
}

// report emits events and counts metrics after the status was written. The write succeeds only for the observed version of the job, so
// nothing is reported twice.
func (r *Reconciler) report(s *scope, d *policy.Decision) {
	if s.facts.Memory.Started.IsZero() && s.job.Spec.ReplicaSpecs.Worker.Template.Spec.RestartPolicy != "" && !d.Memory.Started.IsZero() {
		r.emit(s.job, nil, corev1.EventTypeWarning, reasonRestartPolicy, "The restartPolicy of the pod template is ignored: set replicaSpecs.Worker.restartPolicy")
	}
	for _, e := range d.Events {
		var related runtime.Object
		if e.Pod != "" {
			related = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.job.Namespace, Name: e.Pod}}
		}
		r.emit(s.job, related, e.Type, e.Reason, e.Note)
	}
	r.Metrics.count(s, d)
}

// Metrics contains the controller's metrics.
type Metrics struct{ meter.Counters }

// NewMetrics creates and registers the metrics.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	m := &Metrics{meter.NewCounters(registerer, series.ElasticPodsCreated, series.WorkersEnded, series.ElasticFinished, series.WorkersAbandoned)}
	m.Zero(series.WorkersEnded, string(policy.CauseProgram), string(policy.CauseDisruption))
	m.Zero(series.ElasticFinished, string(v1alpha1.JobSucceeded), string(v1alpha1.JobFailed))
	return m
}

// count updates the metrics for a decision that was written to the status.
func (m *Metrics) count(s *scope, d *policy.Decision) {
	for _, cause := range d.Faults {
		m.Inc(series.WorkersEnded, string(cause))
	}
	for _, e := range d.Events {
		if e.Reason == policy.EventAbandoned {
			m.Inc(series.WorkersAbandoned)
		}
	}
	if s.facts.Memory.Ended == "" && d.Memory.Ended != "" {
		m.Inc(series.ElasticFinished, string(d.Memory.Ended))
	}
}

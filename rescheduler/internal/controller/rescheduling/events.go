package rescheduling

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/rescheduler/internal/policy"
	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
	"github.com/holdfast-project/holdfast/shared/notes"
	"github.com/holdfast-project/holdfast/shared/series"
)

// Event reasons that are not defined in package policy.
const (
	reasonInvalid = "InvalidAnnotation"
	reasonBlocked = "BlockedByDisruptionBudget"
	reasonLifted  = "ExclusionsLifted"
	reasonTainted = "NodeTainted"
	actionDecide  = "Reschedule"
)

// maxReported is the maximum number of reports that are remembered. A dropped report may be sent again.
const maxReported = 8192

// changed reports whether the reason or the message differs from the last report about the pod, and records the new report. An event is
// emitted only once while both stay the same.
func (r *Reconciler) changed(pod types.UID, reason, message string) bool {
	type report struct{ reason, message string }
	now := report{reason, message}
	if before, found := r.reported.Get(pod); found && before == now {
		return false
	}
	r.reported.Add(pod, now)
	return true
}

// send emits an event about an object and, unless it is nil, a related one.
func (r *Reconciler) send(about, related runtime.Object, kind, reason, message string) {
	r.Recorder.Eventf(about, related, kind, reason, actionDecide, "%s", notes.Truncate(message, notes.MaxLength))
}

// quiet reports whether events with this reason are too frequent to be useful.
func quiet(reason string) bool {
	return reason == policy.TooEarly || reason == policy.TooLongAgo
}

// warn announces why the pod is not moved.
func (r *Reconciler) warn(ctx context.Context, s *scope, m signals.Match, reason, message string) {
	r.announce(ctx, s, m, &policy.Decision{Reason: reason, Warning: true, Message: message})
}

// announce publishes a decision in the log, as events of the pod and the workload, in the metrics, and in an annotation of the
// workload.
func (r *Reconciler) announce(ctx context.Context, s *scope, m signals.Match, d *policy.Decision) {
	if quiet(d.Reason) || !r.changed(s.pod.UID, d.Reason, d.Message) {
		return
	}
	kind := corev1.EventTypeNormal
	if d.Warning {
		kind = corev1.EventTypeWarning
	}
	r.send(s.pod.DeepCopy(), nil, kind, d.Reason, d.Message)
	r.metrics.Inc(series.Decisions, d.Reason, m.Row.Name)
	log.FromContext(ctx).Info(d.Message, "reason", d.Reason, "workload", s.subject.Kind+"/"+s.subject.Name)
	// If many pods fail in the same way on one node, the event about the workload is sent only for the first.
	if s.bare() || !r.changed(s.subject.UID, d.Reason, fmt.Sprint(m.Row.Name, " ", s.pod.Spec.NodeName, " ", s.memory.Times)) {
		return
	}
	r.send(s.subject.DeepCopy(), s.pod.DeepCopy(), kind, d.Reason, "pod "+s.pod.Name+": "+d.Message)
	want := map[string]string{DecisionAnnotation: lastDecision(s, d)}
	if r.Config.DryRun || d.Reason == policy.NeverMoved || same(s.subject.Annotations, want) {
		return
	}
	// No program reads the annotation, so the patch needs no resource version.
	if err := r.patch(ctx, s, want, client.MergeFrom(s.subject)); err != nil {
		log.FromContext(ctx).V(1).Info("Failed to write the decision to the workload", "error", err.Error())
	}
}

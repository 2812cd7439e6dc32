package rescheduling

import (
	"context"
	"fmt"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/rescheduler/internal/policy"
	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
)

// Reasons of events beside those of package policy.
const (
	reasonInvalid = "InvalidAnnotation"
	reasonBlocked = "BlockedByDisruptionBudget"
	reasonLifted  = "ExclusionsLifted"
	reasonBlamed  = "NodeTainted"
	actionDecide  = "Reschedule"
)

const (
	// maxNote is what the events API accepts; a longer note loses the whole event.
	maxNote = 1000
	// sayings bounds the memory of what was said. What falls out of it may be said again.
	sayings = 8192
)

// reporter says a thing once, for as long as it stays the same.
type reporter struct {
	recorder events.EventRecorder
	said     *lru.Cache
}

func newReporter(recorder events.EventRecorder) *reporter {
	return &reporter{recorder, lru.New(sayings)}
}

// news tells whether this was not the last that was said about the pod.
func (r *reporter) news(pod types.UID, reason, message string) bool {
	type saying struct{ reason, message string }
	now := saying{reason, message}
	if before, found := r.said.Get(pod); found && before == now {
		return false
	}
	r.said.Add(pod, now)
	return true
}

// sendPod says it on the pod.
func (r *reporter) sendPod(s *scope, kind, reason, message string) {
	r.recorder.Eventf(s.pod.DeepCopy(), nil, kind, reason, actionDecide, "%s", cut(message, maxNote))
}

// sendWorkload says it on the workload. Of many pods that fail in the same way on one node only the first is news.
func (r *reporter) sendWorkload(s *scope, kind, reason, message string) {
	r.recorder.Eventf(s.subject.DeepCopy(), s.pod.DeepCopy(), kind, reason, actionDecide, "%s", cut("pod "+s.pod.Name+": "+message, maxNote))
}

// warn of a value that nobody can read, on the pod: once.
func (r *reporter) warn(s *scope, reason, message string) {
	if r.news(s.pod.UID+"/"+types.UID(reason), reason, message) {
		r.recorder.Eventf(s.pod.DeepCopy(), nil, corev1.EventTypeWarning, reason, actionDecide, "%s", cut(message, maxNote))
	}
}

// quiet are reasons that every user would only be tired by.
func quiet(reason string) bool {
	return reason == policy.TooEarly || reason == policy.TooLongAgo
}

// tell says what was decided: in the log, as events on pod and workload, in the metrics, and on the workload itself.
func (r *Reconciler) tell(ctx context.Context, s *scope, m signals.Match, d *policy.Decision) {
	if quiet(d.Reason) || !r.report.news(s.pod.UID, d.Reason, d.Message) {
		return
	}
	kind := corev1.EventTypeNormal
	if d.Warning {
		kind = corev1.EventTypeWarning
	}
	r.report.sendPod(s, kind, d.Reason, d.Message)
	r.metrics.decided(d.Reason, m.Row.Name)
	log.FromContext(ctx).Info(d.Message, "reason", d.Reason, "workload", s.subject.Kind+"/"+s.subject.Name)
	if s.bare() || !r.report.news(s.subject.UID, d.Reason, fmt.Sprint(m.Row.Name, " ", s.pod.Spec.NodeName, " ", s.memory.Times)) {
		return
	}
	r.report.sendWorkload(s, kind, d.Reason, d.Message)
	want := map[string]string{DecisionAnnotation: saying(s, d)}
	if r.config.DryRun || d.Reason == policy.NeverMoved || same(s.subject.Annotations, want) {
		return
	}
	// It is for people: nothing depends on it, so that it does not matter what the workload was when it was decided.
	if err := r.patch(ctx, s, want, client.MergeFrom(s.subject)); err != nil {
		log.FromContext(ctx).V(1).Info("The decision is not on the workload", "error", err.Error())
	}
}

// cut a text at a limit of bytes, between characters.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	text = text[:limit]
	for len(text) > 0 && !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text
}

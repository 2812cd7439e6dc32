package appwrapper

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/lru"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/notes"
)

const (
	// maxRememberedEvents limits how many sent events are remembered. Forgotten events may be sent again.
	maxRememberedEvents = 4096

	reasonInvalidAnnotation = "InvalidAnnotation"
	actionRead              = "ReadAnnotation"
)

// reporter sends each event about an AppWrapper once.
type reporter struct {
	recorder events.EventRecorder
	sent     *lru.Cache
}

func newReporter(recorder events.EventRecorder) *reporter {
	return &reporter{recorder: recorder, sent: lru.New(maxRememberedEvents)}
}

// send sends an event, unless the last event with the same reason in the same attempt had the same note.
func (r *reporter) send(aw *v1beta2.AppWrapper, e policy.Event) {
	key, now := fmt.Sprintf("%s/%s/%s", aw.UID, e.Reason, e.Action), fmt.Sprintf("%d: %s", attemptNumber(&aw.Status), e.Note)
	if before, _ := r.sent.Get(key); before == now {
		return
	}
	r.sent.Add(key, now)
	kind := corev1.EventTypeNormal
	if e.Warning {
		kind = corev1.EventTypeWarning
	}
	r.recorder.Eventf(aw, nil, kind, e.Reason, e.Action, "%s", notes.Truncate(e.Note, notes.MaxLength))
}

// warnOnce sends one warning for each AppWrapper, annotation and message.
func (r *reporter) warnOnce(aw *v1beta2.AppWrapper, annotation, message string) {
	key := fmt.Sprintf("%s/%s: %s", aw.UID, annotation, message)
	if _, sent := r.sent.Get(key); sent {
		return
	}
	r.sent.Add(key, nil)
	r.recorder.Eventf(aw, nil, corev1.EventTypeWarning, reasonInvalidAnnotation, actionRead, "%s", notes.Truncate(message, notes.MaxLength))
}

// reportProblems warns of invalid annotations.
func (r *Reconciler) reportProblems(s *scope) {
	if finished(s.facts.Phase) && s.facts.Phase != v1beta2.Suspended {
		return
	}
	for _, p := range s.problems {
		r.report.warnOnce(s.aw, p.Annotation, p.Message+"; it is ignored")
	}
}

// reportChanges sends events and updates counters after the status was written. The write requires the observed version, so each change is
// reported once.
func (r *Reconciler) reportChanges(s *scope, d *policy.Decision, before v1beta2.AppWrapperPhase) {
	for _, e := range d.Events {
		r.report.send(s.aw, e)
	}
	r.Metrics.count(s, d, before)
	if !d.Begins {
		return
	}
	r.retries.Forget(s.aw.UID)
	for i := range s.status.ComponentStatus {
		r.kinds.finishedObjects.forget(s.aw.UID, s.reference(i))
	}
}

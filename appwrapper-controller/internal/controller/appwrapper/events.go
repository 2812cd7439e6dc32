package appwrapper

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/notes"
)

const maxRememberedEvents = 4096

// send sends an event, unless the last event of the AppWrapper with this key had the same content.
func (r *Reconciler) send(aw *v1beta2.AppWrapper, e policy.Event, key, content string) {
	key = string(aw.UID) + "/" + key
	if before, _ := r.sent.Get(key); before == content {
		return
	}
	r.sent.Add(key, content)
	kind := corev1.EventTypeNormal
	if e.Warning {
		kind = corev1.EventTypeWarning
	}
	r.Recorder.Eventf(aw, nil, kind, e.Reason, e.Action, "%s", notes.Truncate(e.Note, notes.MaxLength))
}

// reportProblems warns once about each invalid annotation.
func (r *Reconciler) reportProblems(s *scope) {
	if finished(s.facts.Phase) && s.facts.Phase != v1beta2.Suspended {
		return
	}
	for _, problem := range s.problems {
		r.send(s.aw, policy.Event{Warning: true, Reason: "InvalidAnnotation", Action: "ReadAnnotation", Note: problem + "; it is ignored"}, problem, "")
	}
}

// reportChanges sends events and updates counters after the status was written. The write requires the observed version, so each change is
// reported once.
func (r *Reconciler) reportChanges(s *scope, d *policy.Decision, before v1beta2.AppWrapperPhase) {
	for _, e := range d.Events { // at most once in each attempt, unless its note changes
		r.send(s.aw, e, e.Reason+"/"+e.Action, fmt.Sprintf("%d: %s", attemptNumber(&s.aw.Status), e.Note))
	}
	r.Metrics.count(s, d, before)
	if !d.Begins {
		return
	}
	r.retries.Forget(s.aw.UID)
	for i := range s.status.ComponentStatus { // the reports of the previous attempt
		r.kinds.finished.Remove(owned{s.aw.UID, s.reference(i)})
	}
}

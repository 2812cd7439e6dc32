package appwrapper

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/notes"
)

// reportChanges sends events and updates counters after the status was written. The write succeeds only for the observed version, so each
// change is reported once. Events about an ongoing state, such as a forced removal, are sent in each reconcile. The recorder merges events
// about the same version into a series, without further writes.
func (r *Reconciler) reportChanges(s *scope, d *policy.Decision, before v1beta2.AppWrapperPhase) {
	events := d.Events
	if d.Begins && len(s.problems) > 0 { // in one event, because the recorder would merge several into a series with the first note
		note := "ignored: " + strings.Join(s.problems, "; ")
		events = append(events, policy.Event{Warning: true, Reason: "InvalidAnnotation", Action: "ReadAnnotation", Note: note})
	}
	for _, e := range events {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		r.Recorder.Eventf(s.aw, nil, kind, e.Reason, e.Action, "%s", notes.Truncate(e.Note, notes.MaxLength))
	}
	r.Metrics.count(s, d, before)
	if !d.Begins {
		return
	}
	for i := range s.status.ComponentStatus { // objects of the previous attempt, which may have been created in the same second
		r.kinds.finished.Remove(owned{s.aw.UID, s.reference(i)})
	}
}

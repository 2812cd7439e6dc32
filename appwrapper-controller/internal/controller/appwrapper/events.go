package appwrapper

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/notes"
)

func (r *Reconciler) send(aw *v1beta2.AppWrapper, e policy.Event) {
	kind := corev1.EventTypeNormal
	if e.Warning {
		kind = corev1.EventTypeWarning
	}
	r.Recorder.Eventf(aw, nil, kind, e.Reason, e.Action, "%s", notes.Truncate(e.Note, notes.MaxLength))
}

// reportChanges sends events and updates counters after the status was written. The write requires the observed version, so each change is
// reported once. Events about something that lasts, such as a forced removal, are sent in each reconcile. The recorder merges those about the
// same version into a series, without further writes.
func (r *Reconciler) reportChanges(s *scope, d *policy.Decision, before v1beta2.AppWrapperPhase) {
	for _, e := range d.Events {
		r.send(s.aw, e)
	}
	if d.Begins && len(s.problems) > 0 { // in one event, because the recorder would merge several into a series with the first note
		r.send(s.aw, policy.Event{Warning: true, Reason: "InvalidAnnotation", Action: "ReadAnnotation", Note: "ignored: " + strings.Join(s.problems, "; ")})
	}
	r.Metrics.count(s, d, before)
}

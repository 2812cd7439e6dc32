package read

import "testing"

// If a workload was deleted and created again within an hour, events exist for an earlier workload of the same name. Objects that the
// workload itself had before a reset also differ in UID from its current objects.
func TestEventsOfAnEarlierWorkloadOfTheSameName(t *testing.T) {
	event := func(about, at string) string {
		return "{apiVersion: v1, kind: Event, metadata: {name: e}, message: m, firstTimestamp: \"2026-11-22T" + at + "Z\", involvedObject: {" + about + "}}"
	}
	const earlier, later = "11:59:59", "12:00:00"
	for name, tc := range map[string]struct {
		event string
		kept  bool
	}{
		"about the root": {event("kind: AppWrapper, name: whole, uid: aw", later), true},
		"about the root, from a clock that lags behind":           {event("kind: AppWrapper, name: whole, uid: aw", earlier), true},
		"about an earlier root":                                   {event("kind: AppWrapper, name: whole, uid: old", earlier), false},
		"about an earlier root, when this one was created":        {event("kind: AppWrapper, name: whole, uid: old", later), false},
		"about a root without a UID":                              {event("kind: AppWrapper, name: whole", later), true},
		"about a root without a UID, before this one was created": {event("kind: AppWrapper, name: whole", earlier), false},
		"about a JobSet that a reset removed":                     {event("kind: JobSet, name: train, uid: removed", later), true},
		"about a JobSet of an earlier workload":                   {event("kind: JobSet, name: train, uid: old", earlier), false},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := cluster(t, tc.event, `{apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper,
 metadata: {name: whole, uid: aw, creationTimestamp: "2026-11-22T12:00:00Z"}}`)
			w, err := r.Workload(t.Context(), "team", "whole")
			if err != nil {
				t.Fatal(err)
			}
			if (len(w.Events) == 1) != tc.kept {
				t.Errorf("%d events, want the event to be kept: %t", len(w.Events), tc.kept)
			}
		})
	}
}

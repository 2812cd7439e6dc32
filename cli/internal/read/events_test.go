package read

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// If a workload is deleted and created again within an hour, there are still events about the earlier workload of the same name. UIDs
// alone do not distinguish these, because objects that the current workload had before a reset also have other UIDs.
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
 metadata: {name: whole, uid: aw, creationTimestamp: "2026-11-22T12:00:00Z"}, status: {componentStatus: [{kind: JobSet, name: train}]}}`)
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

// A LeaderWorkerSet may have hundreds of replicas, each with a pod with index 0.
func TestEventsOfManyObjects(t *testing.T) {
	manifests := []string{`{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, metadata: {name: serve, uid: lws}}`}
	event := func(pod string) {
		manifests = append(manifests, `{apiVersion: v1, kind: Event, metadata: {name: `+pod+`}, message: m, involvedObject: {kind: Pod, name: `+pod+`}}`)
	}
	for i := range 20 {
		name := fmt.Sprintf("serve-%d", i)
		manifests = append(manifests, `{apiVersion: v1, kind: Pod, metadata: {name: `+name+`, uid: `+name+`,
 labels: {leaderworkerset.sigs.k8s.io/name: serve, holdfast.dev/group-name: `+name+`}}}`)
	}
	event("serve-0")
	event("other")
	event("serve-19")
	r, k8s := cluster(t, manifests...)
	w, err := r.Workload(t.Context(), "team", "serve")
	if err != nil {
		t.Fatal(err)
	}
	lists := 0
	for _, action := range k8s.Actions() {
		if action.Matches("list", eventsResource.Resource) {
			lists++
		}
	}
	var about []string
	for i := range w.Events {
		about = append(about, w.Events[i].InvolvedObject.Name)
	}
	if diff := cmp.Diff([]string{"serve-0", "serve-19"}, about); diff != "" || lists != 1 {
		t.Errorf("%d lists of events, want 1\n%s", lists, diff)
	}
}

// Earlier pods of the same workload may have had the same name, for example in a StatefulSet. Their events explain why they were moved.
func TestEventsOfAnEarlierPodOfTheSameName(t *testing.T) {
	const old, earlier, later = "11:59:59", "12:00:01", "12:00:03" // the workload was created at 12:00:00, the pods at 12:00:02
	for name, tc := range map[string]struct {
		pod, uid, first, last string
		kept                  bool
	}{
		"about the pod": {"web-0", "web", later, later, true},
		"about the pod, from a clock that lags behind": {"web-0", "web", old, old, true},
		"about an earlier pod of the workload":         {"web-0", "other", earlier, earlier, true},
		"about a pod of an earlier workload":           {"web-0", "other", old, old, false},
		"without a UID":                                {"web-0", "", earlier, earlier, true},
		"without a UID, before the workload":           {"web-0", "", old, old, false},
		"without a UID, repeated":                      {"web-0", "", old, later, true},
		"about a bare pod":                             {"bare", "bare", later, later, true},
		"about an earlier bare pod":                    {"bare", "other", later, later, false},
		"about a bare pod, without a UID":              {"bare", "", later, later, true},
		"about an earlier bare pod, without a UID":     {"bare", "", earlier, earlier, false},
	} {
		t.Run(name, func(t *testing.T) {
			at := func(time string) string { return `"2026-11-22T` + time + `Z"` }
			r, _ := cluster(t,
				"{apiVersion: v1, kind: Event, metadata: {name: e}, firstTimestamp: "+at(tc.first)+", lastTimestamp: "+at(tc.last)+
					", involvedObject: {kind: Pod, name: "+tc.pod+", uid: \""+tc.uid+"\"}}",
				"{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: web, uid: sts, creationTimestamp: "+at("12:00:00")+"}}",
				"{apiVersion: v1, kind: Pod, metadata: {name: bare, uid: bare, creationTimestamp: "+at("12:00:02")+"}}",
				"{apiVersion: v1, kind: Pod, metadata: {name: web-0, uid: web, creationTimestamp: "+at("12:00:02")+
					", ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: web, uid: sts, controller: true}]}}",
			)
			p, err := r.Pod(t.Context(), "team", tc.pod)
			if err != nil {
				t.Fatal(err)
			}
			if (len(p.Events) == 1) != tc.kept {
				t.Errorf("%d events, want the event to be kept: %t", len(p.Events), tc.kept)
			}
		})
	}
}

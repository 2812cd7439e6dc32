package read

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-project/holdfast/shared/timeline"
)

// replicas returns a reader of a cluster with a LeaderWorkerSet that has two replicas, the second of which has
// restarted once. The StatefulSet of a replica's workers is named after the replica's leader pod, which controls it.
func replicas(t *testing.T) Reader {
	t.Helper()
	pod := func(name, group, owner, annotations string) string {
		return `{apiVersion: v1, kind: Pod, metadata: {name: ` + name + `, uid: ` + name + `, annotations: {` + annotations + `},
 labels: {leaderworkerset.sigs.k8s.io/name: serve, holdfast.dev/group-name: ` + group + `}, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, ` + owner + `, controller: true}]}}`
	}
	asks := func(restarts string) string {
		return `alpha.jobset.sigs.k8s.io/inplace-timeout: 60s, holdfast.dev/max-restarts: "20", alpha.jobset.sigs.k8s.io/inplace-restarts: "` + restarts + `"`
	}
	workers := func(leader, uid string) string {
		return `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: ` + leader + `, uid: ` + uid + `,
 ownerReferences: [{apiVersion: v1, kind: Pod, name: ` + leader + `, uid: ` + leader + `, controller: true}]}}`
	}
	r, _ := cluster(t,
		`{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, metadata: {name: serve, uid: lws}}`,
		`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: serve, uid: sts, ownerReferences: [{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, name: serve, uid: lws, controller: true}]}}`,
		workers("serve-0", "sts0"),
		workers("serve-1", "sts1"),
		pod("serve-0", "serve-0", "name: serve, uid: sts", asks("0")),
		pod("serve-0-1", "serve-0", "name: serve-0, uid: sts0", ""),
		pod("serve-1", "serve-1", "name: serve, uid: sts", asks("1")),
		pod("serve-1-1", "serve-1", "name: serve-1, uid: sts1", ""),
	)
	return r
}

func TestGroupsOfALeaderWorkerSet(t *testing.T) {
	r := replicas(t)
	for _, name := range []string{"serve", "leaderworkersets/serve", "statefulset/serve", "serve-0", "statefulset/serve-1", "pod/serve-1-1"} {
		w, err := r.Workload(t.Context(), "team", name)
		if err != nil {
			t.Fatal(err)
		}
		var objects []string
		for _, o := range w.Timeline().Objects {
			objects = append(objects, o.String())
		}
		slices.Sort(objects)
		if got := strings.Join(objects, ", "); got != "LeaderWorkerSet serve, Pod serve-0, Pod serve-1" || w.Name() != "LeaderWorkerSet/serve" || len(w.Pods) != 4 {
			t.Errorf("%s is %s with %s and %d pods", name, w.Name(), got, len(w.Pods))
		}
	}
}

func TestRootThatAPodOwns(t *testing.T) {
	r, _ := cluster(t, ownedBy("batch/v1", "Job", "step", "v1", "Pod driver"), ownedBy("v1", "Pod", "driver", "", ""))
	w, err := r.Workload(t.Context(), "team", "step")
	if err != nil {
		t.Fatal(err)
	}
	if w.Name() != "Job/step" {
		t.Errorf("the root is %s", w.Name())
	}
}

func TestGroupsThatPodsOrJobsDeclare(t *testing.T) {
	pod := `{apiVersion: v1, kind: Pod, metadata: {name: train-1, labels: {holdfast.dev/group-name: train-0}}}`
	leader := `{apiVersion: v1, kind: Pod, metadata: {name: train-0, labels: {holdfast.dev/group-name: train-0},
 annotations: {alpha.jobset.sigs.k8s.io/inplace-timeout: 60s, alpha.jobset.sigs.k8s.io/inplace-restarts: "2"}}}`
	job := `{apiVersion: batch/v1, kind: Job, metadata: {name: train, uid: j, annotations: {alpha.jobset.sigs.k8s.io/inplace-timeout: 60s, holdfast.dev/max-restarts: "3"}},
 spec: {backoffLimit: 24}}`
	for name, c := range map[string]struct {
		of, root string
		want     timeline.Group
	}{
		"a group of pods":                  {"train-1", "Pod/train-0", timeline.Group{MaxRestarts: 6, Charged: 2}},
		"an Indexed Job":                   {"train", "Job/train", timeline.Group{MaxRestarts: 3}},
		"a JobSet without a policy":        {"fit", "JobSet/fit", timeline.Group{MaxRestarts: 4}},
		"a JobSet that has a policy":       {"tune", "JobSet/tune", timeline.Group{MaxRestarts: 5, Charged: 1}},
		"a JobSet that allows no restarts": {"once", "JobSet/once", timeline.Group{}},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := cluster(t, pod, leader, job,
				`{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: fit, annotations: {holdfast.dev/max-restarts: "4"}}}`,
				`{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: tune, annotations: {holdfast.dev/max-restarts: "4"}},
 spec: {failurePolicy: {maxRestarts: 5}}, status: {restartsCountTowardsMax: 1}}`,
				`{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: once}}`,
			)
			w, err := r.Workload(t.Context(), "team", c.of)
			if err != nil {
				t.Fatal(err)
			}
			if got := w.Timeline().Objects[0].Group; w.Name() != c.root || got == nil || *got != c.want {
				t.Errorf("%s has the group %+v, want %s with %+v", w.Name(), got, c.root, c.want)
			}
		})
	}
}

// An AppWrapper or a CronJob does not hide the group of its Job.
func TestGroupsOfJobsWithAnOwner(t *testing.T) {
	job := func(name, owner, more string) string {
		return `{apiVersion: batch/v1, kind: Job, metadata: {name: ` + name + `, uid: ` + name + `, annotations: {alpha.jobset.sigs.k8s.io/inplace-timeout: 60s},
 ownerReferences: [{apiVersion: x/v1, kind: X, name: x, uid: ` + owner + `, controller: true}]}` + more + `}`
	}
	r, _ := cluster(t,
		`{apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, metadata: {name: wrapped, uid: aw}}`,
		`{apiVersion: batch/v1, kind: CronJob, metadata: {name: nightly, uid: cron}}`,
		job("wrapped-job", "aw", ""), job("nightly-1", "cron", `, status: {conditions: [{type: Complete, status: "True"}]}`), job("nightly-2", "cron", ""), job("other", "nobody", ""),
		`{apiVersion: batch/v1, kind: Job, metadata: {name: plain, uid: plain, ownerReferences: [{apiVersion: x/v1, kind: X, name: x, uid: aw, controller: true}]}}`,
	)
	for root, want := range map[string]string{"wrapped": "wrapped-job", "nightly": "nightly-2"} {
		w, err := r.Workload(t.Context(), "team", root)
		if err != nil {
			t.Fatal(err)
		}
		objects := w.Timeline().Objects
		if len(objects) != 2 || objects[1].Name != want || objects[1].Group == nil {
			t.Errorf("%s consists of %v, want it and the group of Job %s", root, objects, want)
		}
	}
}

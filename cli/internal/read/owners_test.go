package read

import (
	"strings"
	"testing"
)

// ownedBy returns the manifest of an object with an owner, such as "Job train", or without one. UIDs consist of the
// kind and the name.
func ownedBy(apiVersion, kind, name, ownerVersion, owner string) string {
	text := "{apiVersion: " + apiVersion + ", kind: " + kind + ", metadata: {name: " + name + ", uid: " + kind + "-" + name
	if ownerKind, ownerName, owned := strings.Cut(owner, " "); owned {
		text += ", ownerReferences: [{apiVersion: " + ownerVersion + ", kind: " + ownerKind + ", name: " + ownerName +
			", uid: " + ownerKind + "-" + ownerName + ", controller: true}]"
	}
	return text + "}}"
}

// The plugin finds the same owners of a pod as the rescheduler: objects of any kind that the cluster serves.
func TestOwnersOfAPod(t *testing.T) {
	const trainer, jobset, lws = "trainer.kubeflow.org/v1alpha1", "jobset.x-k8s.io/v1alpha2", "leaderworkerset.x-k8s.io/v1"
	r, _ := cluster(t,
		ownedBy("v1", "Pod", "train-0", "batch/v1", "Job train"),
		ownedBy("batch/v1", "Job", "train", jobset, "JobSet train"),
		ownedBy(jobset, "JobSet", "train", trainer, "TrainJob train"),
		ownedBy(trainer, "TrainJob", "train", "", ""),
		ownedBy("v1", "Pod", "serve-0-1", "apps/v1", "StatefulSet serve-0"),
		ownedBy("apps/v1", "StatefulSet", "serve-0", "v1", "Pod serve-0"),
		ownedBy("v1", "Pod", "serve-0", "apps/v1", "StatefulSet serve"),
		ownedBy("apps/v1", "StatefulSet", "serve", lws, "LeaderWorkerSet serve"),
		ownedBy(lws, "LeaderWorkerSet", "serve", "", ""),
		ownedBy("v1", "Pod", "bare", "", ""),
		ownedBy("v1", "Pod", "orphan", "batch/v1", "Job gone"),
		strings.Replace(ownedBy("v1", "Pod", "reused", "batch/v1", "Job train"), "uid: Job-train", "uid: earlier", 1),
		ownedBy("v1", "Pod", "unserved", "ray.io/v1", "RayCluster ray"),
		ownedBy("v1", "Pod", "static", "v1", "Node node-a"),
		ownedBy("v1", "Pod", "circle", "v1", "Pod circle"),
	)
	for name, want := range map[string]struct{ owners, missing string }{
		"train-0":   {"Job/train JobSet/train TrainJob/train", ""},
		"serve-0-1": {"StatefulSet/serve-0 Pod/serve-0 StatefulSet/serve LeaderWorkerSet/serve", ""},
		"bare":      {"", ""},
		"orphan":    {"", "Job gone does not exist"},
		"reused":    {"", "Job train does not exist"},
		"unserved":  {"", "the cluster does not serve the kind RayCluster in ray.io/v1"},
		"static":    {"", ""},
		"circle":    {strings.TrimSpace(strings.Repeat("Pod/circle ", 8)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := r.Pod(t.Context(), "team", name)
			if err != nil {
				t.Fatal(err)
			}
			var owners []string
			for _, o := range p.Owners {
				owners = append(owners, o.GetKind()+"/"+o.GetName())
			}
			if got := strings.Join(owners, " "); got != want.owners || p.Missing != want.missing {
				t.Errorf("owners %q, missing %q; want %q, %q", got, p.Missing, want.owners, want.missing)
			}
		})
	}
}

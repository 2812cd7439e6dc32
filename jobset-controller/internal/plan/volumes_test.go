package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
)

// withClaims returns a JobSet with a claim "data" that is deleted with it and a claim "models" that is retained. The
// replicatedJob a mounts both, the second one in an init container; b mounts none.
func withClaims() *JobSet {
	mounts := func(e *v1alpha2.ReplicatedJob) {
		pod := &e.Template.Spec.Template.Spec
		pod.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data"}}
		pod.InitContainers = []corev1.Container{{Name: "init", VolumeMounts: []corev1.VolumeMount{{Name: "models"}}}}
	}
	template := func(name string) corev1.PersistentVolumeClaim {
		return corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"k": "v"}}}
	}
	return MakeJobSet("js").Entry("a", 1, mounts).Entry("b", 1).Change(func(js *v1alpha2.JobSet) {
		js.Spec.VolumeClaimPolicies = []v1alpha2.VolumeClaimPolicy{
			{Templates: []corev1.PersistentVolumeClaim{template("data")}},
			{Templates: []corev1.PersistentVolumeClaim{template("models")}, RetentionPolicy: &v1alpha2.VolumeRetentionPolicy{WhenDeleted: v1alpha2.RetentionPolicyRetain}},
		}
	})
}

func TestClaims(t *testing.T) {
	js := withClaims()
	claims := Claims(js.Obj())
	if len(claims) != 2 {
		t.Fatalf("%d claims", len(claims))
	}
	data, models := claims[0], claims[1]
	if data.Name != "data-js" || !metav1.IsControlledBy(data, js.Obj()) {
		t.Errorf("%s, owned by %v", data.Name, data.OwnerReferences)
	}
	if models.Name != "models-js" || len(models.OwnerReferences) > 0 {
		t.Errorf("%s, owned by %v", models.Name, models.OwnerReferences)
	}
	if diff := cmp.Diff(map[string]string{"k": "v", "jobset.sigs.k8s.io/jobset-name": "js"}, data.Labels); diff != "" {
		t.Error(diff)
	}
}

func TestPodsGetTheClaimsTheyMount(t *testing.T) {
	own := corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
	for name, c := range map[string]struct {
		js   *JobSet
		rjob int
		want string
	}{
		"a pod that mounts both": {withClaims(), 0, "data=data-js models=models-js "},
		"a pod that mounts none": {withClaims(), 1, ""},
		"a pod that has a volume with the name": {withClaims().Change(func(js *v1alpha2.JobSet) {
			js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Volumes = []corev1.Volume{own}
		}), 0, "data= models=models-js "},
	} {
		t.Run(name, func(t *testing.T) {
			var got string
			for _, v := range build(c.js, c.rjob, 0).Spec.Template.Spec.Volumes {
				got += v.Name + "="
				if v.PersistentVolumeClaim != nil {
					got += v.PersistentVolumeClaim.ClaimName
				}
				got += " "
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSingleRestartsAreWritten(t *testing.T) {
	js := MakeJobSet("js").Entry("a", 2).Change(func(js *v1alpha2.JobSet) {
		js.Status.ReplicatedJobsStatus = []v1alpha2.ReplicatedJobStatus{{Name: "x", JobRestarts: []int32{9}}, {Name: "a", JobRestarts: []int32{0, 3}}}
	})
	for name, c := range map[string]struct {
		always bool
		index  int
		want   string
	}{
		"a Job that was never restarted":                  {true, 0, "0"},
		"a Job that was restarted":                        {true, 1, "3"},
		"without the gate, as in the upstream controller": {false, 0, ""},
		"without the gate, but it was restarted before":   {false, 1, "3"},
	} {
		builder := NewBuilder(js.Obj(), mustEpoch(js))
		builder.CountsSingle = c.always
		job := builder.Job(0, c.index)
		for where, got := range map[string]string{"label": job.Labels[v1alpha2.JobRestartsKey], "annotation": job.Annotations[v1alpha2.JobRestartsKey],
			"label of pods": job.Spec.Template.Labels[v1alpha2.JobRestartsKey]} {
			if got != c.want {
				t.Errorf("%s: %s is %q, want %q", name, where, got, c.want)
			}
		}
	}
}

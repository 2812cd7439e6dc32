//go:build envtest

package jobset

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

// withClaims returns a JobSet whose first replicatedJob mounts "data" and "models", and whose second mounts "data".
func withClaims() *JobSet {
	mount := func(names ...string) func(*v1alpha2.ReplicatedJob) {
		return func(e *v1alpha2.ReplicatedJob) {
			c := &e.Template.Spec.Template.Spec.Containers[0]
			for _, name := range names {
				c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: "/" + name})
			}
		}
	}
	template := func(name string) corev1.PersistentVolumeClaim {
		return corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": "a"}, Annotations: map[string]string{"note": "b"}},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			},
		}
	}
	return MakeJobSet("a").Entry("fetch", 1, mount("data", "models")).Entry("train", 1, mount("data")).Change(func(js *v1alpha2.JobSet) {
		js.Spec.VolumeClaimPolicies = []v1alpha2.VolumeClaimPolicy{
			{Templates: []corev1.PersistentVolumeClaim{template("data")}},
			{Templates: []corev1.PersistentVolumeClaim{template("models")}, RetentionPolicy: &v1alpha2.VolumeRetentionPolicy{WhenDeleted: v1alpha2.RetentionPolicyRetain}},
		}
	})
}

func (w *world) claim(name string) *corev1.PersistentVolumeClaim {
	w.Helper()
	var claim corev1.PersistentVolumeClaim
	w.OK(w.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, &claim))
	return &claim
}

func TestClaimsAreCreatedBeforeTheJobsThatMountThem(t *testing.T) {
	w := newWorld(t)
	js := w.create(withClaims())
	w.awaitJobs("a-fetch-0@0", "a-train-0@0")
	if calls := w.Calls(); !before(calls, "create PersistentVolumeClaim", "create Job") {
		t.Errorf("calls: %q", calls)
	}
	data, models := w.claim("data-a"), w.claim("models-a")
	if !metav1.IsControlledBy(data, js) || len(models.OwnerReferences) > 0 {
		t.Errorf("owners: %v, %v", data.OwnerReferences, models.OwnerReferences)
	}
	if data.Labels["team"] != "a" || data.Labels[v1alpha2.JobSetNameKey] != "a" || data.Annotations["note"] != "b" {
		t.Errorf("labels %v, annotations %v", data.Labels, data.Annotations)
	}
	for job, want := range map[string]string{"a-fetch-0": "data=data-a models=models-a", "a-train-0": "data=data-a"} {
		var volumes []string
		for _, v := range w.job(job).Spec.Template.Spec.Volumes {
			volumes = append(volumes, v.Name+"="+v.PersistentVolumeClaim.ClaimName)
		}
		if diff := cmp.Diff(want, strings.Join(volumes, " ")); diff != "" {
			t.Errorf("%s: %s", job, diff)
		}
	}
	made := strings.Count(strings.Join(w.Calls(), "\n"), "create PersistentVolumeClaim")
	w.ready("a-fetch-0")
	w.Always(func() string {
		return cmp.Diff(made, strings.Count(strings.Join(w.Calls(), "\n"), "create PersistentVolumeClaim"))
	})
}

func TestExistingClaimIsUsedAndReported(t *testing.T) {
	w := newWorld(t)
	w.Stop()
	for _, name := range []string{"data-a", "models-a"} {
		kept := withClaims().Spec.VolumeClaimPolicies[0].Templates[0].DeepCopy()
		kept.Name, kept.Namespace = name, w.Namespace
		w.OK(w.Create(t.Context(), kept))
	}
	w.create(withClaims())
	w.start()
	w.awaitJobs("a-fetch-0@0", "a-train-0@0")
	if got := w.eventsWith("ForeignVolumeClaim"); len(got) != 1 || !strings.Contains(got[0], "data-a exists and does not belong to this JobSet") {
		t.Errorf("events: %q", got)
	}
}

func TestNoJobsWithoutClaims(t *testing.T) {
	w := newWorld(t)
	w.FailOn(func(call string, _ client.Object) error {
		if strings.HasPrefix(call, "create PersistentVolumeClaim") {
			return sandbox.ErrCrash
		}
		return nil
	})
	w.create(withClaims())
	w.Eventually(func() string {
		if len(w.eventsWith("PVCCreationFailed")) == 0 {
			return "no event"
		}
		return ""
	})
	w.FailOn(nil)
	w.awaitJobs("a-fetch-0@0", "a-train-0@0")
	w.claim("data-a")
}

// A user deletes a claim that is still used by pods, so it exists until the last of them is gone. New pods would never
// be scheduled with the terminating claim, and afterwards would not have a claim at all.
func TestJobsWaitForATerminatingClaim(t *testing.T) {
	w := newWorld(t)
	w.create(withClaims().MaxRestarts(1))
	w.awaitJobs("a-fetch-0@0", "a-train-0@0")
	old := w.claim("models-a")
	protected := old.DeepCopy()
	protected.Finalizers = append(protected.Finalizers, "example.com/in-use")
	w.OK(w.Patch(t.Context(), protected, client.MergeFrom(old)))
	w.OK(w.Delete(t.Context(), old))
	w.fail("a-fetch-0")
	w.awaitJobs("a-fetch-0@0-", "a-train-0@0-")
	w.collect("a-fetch-0", "a-train-0")
	w.awaitCondition("a", "Running=False/WaitingForVolumeClaims")
	w.Always(func() string { return sandbox.Differs("jobs", "", w.jobNames()) })
	if got := w.eventsWith("PVCCreationFailed"); len(got) == 0 || !strings.Contains(got[0], "models-a is being deleted") {
		t.Errorf("events: %q", got)
	}
	gone := w.claim("models-a")
	released := gone.DeepCopy()
	released.Finalizers = nil
	w.OK(w.Patch(t.Context(), released, client.MergeFrom(gone)))
	w.awaitJobs("a-fetch-0@1", "a-train-0@1")
	if w.claim("models-a").UID == old.UID {
		t.Error("the claim was not created again")
	}
}

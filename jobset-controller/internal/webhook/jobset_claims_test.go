package webhook

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
)

func TestExistingClaims(t *testing.T) {
	size := func(s string) corev1.PersistentVolumeClaimSpec {
		return corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(s)}},
		}
	}
	bound := size("1Gi")
	bound.VolumeName = "volume-7"
	js := func(fate v1alpha2.RetentionPolicyType) *JobSet {
		return MakeJobSet("a").Entry("w", 1, func(e *v1alpha2.ReplicatedJob) {
			e.Template.Spec.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
		}).Change(func(js *v1alpha2.JobSet) {
			js.Spec.VolumeClaimPolicies = []v1alpha2.VolumeClaimPolicy{{
				Templates:       []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: size("1Gi")}},
				RetentionPolicy: &v1alpha2.VolumeRetentionPolicy{WhenDeleted: fate},
			}}
		})
	}
	const prefix = `JobSet.jobset.x-k8s.io "a" is invalid: spec.volumeClaimPolicies[0].`
	for name, c := range map[string]struct {
		existing string // name of a claim
		spec     corev1.PersistentVolumeClaimSpec
		js       *JobSet
		want     string
	}{
		"no claim":                            {"other-a", size("9Gi"), js(v1alpha2.RetentionPolicyDelete), ""},
		"a claim that is retained, and bound": {"data-a", bound, js(v1alpha2.RetentionPolicyRetain), ""},
		"a claim that would be deleted":       {"data-a", bound, js(v1alpha2.RetentionPolicyDelete), prefix + `retentionPolicy.whenDeleted: Invalid value: "Delete": retentionPolicy must be retain when PVC exists: data-a`},
		"a claim of another size":             {"data-a", size("2Gi"), js(v1alpha2.RetentionPolicyRetain), prefix + `templates[0].spec: Forbidden: spec does not match existing PVC data-a in namespace default`},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := clientgoscheme.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: c.existing, Namespace: "default"}, Spec: c.spec}
			live := fake.NewClientBuilder().WithScheme(scheme).WithObjects(claim).Build()
			_, err := jobSets{live: live}.ValidateCreate(t.Context(), c.js.Obj())
			if diff := cmp.Diff(c.want, text(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

package owners

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// If it is not known whether an owner exists, it must not be treated as absent, because absent owners lose their groups
// and users.
func TestLister(t *testing.T) {
	s := runtime.NewScheme()
	if err := v1alpha2.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	metav1.AddMetaToScheme(s)
	s.AddKnownTypeWithName(ElasticJob, &metav1.PartialObjectMetadata{})
	s.AddKnownTypeWithName(ElasticJob.GroupVersion().WithKind("ElasticJobList"), &metav1.PartialObjectMetadataList{})
	job := MakeElasticJob()
	job.SetNamespace("ns")
	job.SetName("same")
	job.SetUID("elastic")
	c := fake.NewClientBuilder().WithScheme(s).WithObjects(job, &v1alpha2.JobSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "same", UID: "jobset"}}).Build()

	expecting, missing, found := &Lister{Elastic: true}, &Lister{Elastic: true}, &Lister{Elastic: true}
	missing.served.Store(absent)
	if err := found.AwaitElasticJobs(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		lister *Lister
		want   int
		err    error
	}{
		"ElasticJobs are not requested": {nil, 1, nil},
		"it is not known yet":           {expecting, 1, ErrUnknown},
		"the cluster has none":          {missing, 1, nil},
		"there are some":                {found, 2, nil},
	} {
		got, err := tc.lister.ByUID(t.Context(), c)
		if len(got) != tc.want || !errors.Is(err, tc.err) {
			t.Errorf("%s: %d owners (%v)", name, len(got), err)
		}
		if len(got) == 2 && (KindOf(got["jobset"]) != JobSet || KindOf(got["elastic"]) != ElasticJob) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

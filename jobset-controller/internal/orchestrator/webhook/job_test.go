package webhook

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// A Job gets a name like those that the API server generates. A Job with neither a name nor a prefix does not get a
// name, so the API server rejects it.
func TestNames(t *testing.T) {
	for prefix, wanted := range map[string]bool{"train-": true, "": false} {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "team", GenerateName: prefix, Annotations: map[string]string{v1alpha2.InPlaceTimeoutKey: "60s"}}}
		if err := (&Jobs{}).Default(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		if got := job.Name != ""; got != wanted || !strings.HasPrefix(job.Name, prefix) {
			t.Errorf("a Job with the prefix %q gets the name %q", prefix, job.Name)
		}
	}
}

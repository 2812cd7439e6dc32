package elasticjob

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	. "github.com/holdfast-project/holdfast/elastic-operator/internal/testing/wrappers"
)

// The reconciler has no client, so every call would panic.
func TestDeletedJobIsLeftToTheGarbageCollector(t *testing.T) {
	job := MakeElasticJob("a").With(func(j *v1alpha1.ElasticJob) { j.DeletionTimestamp = &metav1.Time{Time: noon} }).Obj()
	if result, err := New(Options{}).Reconcile(t.Context(), job); err != nil || result != (ctrl.Result{}) {
		t.Errorf("%+v, %v", result, err)
	}
}

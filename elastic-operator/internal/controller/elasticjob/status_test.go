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

func TestFalseConditionsAreNotAdded(t *testing.T) {
	for kind, added := range map[v1alpha1.JobConditionType]bool{v1alpha1.JobRestarting: false, v1alpha1.JobInPlaceInSync: true} {
		list := setCondition(nil, v1alpha1.JobCondition{Type: kind, Status: metav1.ConditionFalse}, noon)
		if (len(list) == 1) != added {
			t.Errorf("%s: %+v", kind, list)
		}
	}
}

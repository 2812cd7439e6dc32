package elasticjob

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

func TestFalseConditionsAreNotAdded(t *testing.T) {
	for kind, added := range map[v1alpha1.JobConditionType]bool{v1alpha1.JobRestarting: false, v1alpha1.JobInPlaceInSync: true} {
		list := setCondition(nil, v1alpha1.JobCondition{Type: kind, Status: metav1.ConditionFalse}, noon)
		if (len(list) == 1) != added {
			t.Errorf("%s: %+v", kind, list)
		}
	}
}

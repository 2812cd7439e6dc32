package orchestrator

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// The API server rejects null where the schema requires a list, but the fake API server accepts it.
func TestRemovedConditionsAreAnEmptyList(t *testing.T) {
	g := formed(t)
	var applied []byte
	g.r.Client = g.through(interceptor.Funcs{
		SubResourceApply: func(_ context.Context, _ client.Client, _ string, obj runtime.ApplyConfiguration, _ ...client.SubResourceApplyOption) error {
			var err error
			applied, err = json.Marshal(obj)
			return err
		},
	})
	g.change(func(js *v1alpha2.JobSet) { delete(js.Annotations, v1alpha2.InPlaceTimeoutKey) })
	g.reconcile()
	if !strings.Contains(string(applied), `"conditions":[]`) {
		t.Errorf("applied %s", applied)
	}
}

package read

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
)

// A cluster serves only the kinds of the programs that are installed. Missing kinds are not an error.
func TestServedKinds(t *testing.T) {
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, k := range allKinds() {
		if k.Group != elasticGroup {
			mapper.Add(k.GroupVersionKind, meta.RESTScopeNamespace)
		}
	}
	found, err := served(mapper, allKinds())
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != len(allKinds())-1 {
		t.Errorf("%d of %d kinds", len(found), len(allKinds()))
	}
	for _, k := range found {
		if k.Group == elasticGroup {
			t.Errorf("%s is among them", k.Kind)
		}
	}
}

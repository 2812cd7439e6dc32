package read

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

// Kinds that the cluster has no more, and those that one may not read, are none; anything else is an error.
func TestListOfWhatIsNotThere(t *testing.T) {
	gvr := schema.GroupVersionResource{Group: "workload.codeflare.dev", Version: "v1beta2", Resource: "appwrappers"}
	for name, c := range map[string]struct {
		answer error
		fails  bool
	}{
		"no such kind": {apierrors.NewNotFound(gvr.GroupResource(), ""), false},
		"no right":     {apierrors.NewForbidden(gvr.GroupResource(), "", nil), false},
		"no answer":    {errors.New("refused"), true},
	} {
		t.Run(name, func(t *testing.T) {
			k8s := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{gvr: "AppWrapperList"})
			k8s.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, c.answer })
			list, err := Reader{Client: k8s}.list(t.Context(), gvr, "default", metav1.ListOptions{})
			if (err != nil) != c.fails || len(list) != 0 {
				t.Errorf("%v, %v", list, err)
			}
		})
	}
}

package read

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

// Kinds that the cluster no longer serves are skipped. Other failures are errors, and missing permissions are
// reported.
func TestListOfUnservedKind(t *testing.T) {
	gvr := schema.GroupVersionResource{Group: "workload.codeflare.dev", Version: "v1beta2", Resource: "appwrappers"}
	for name, c := range map[string]struct {
		answer           error
		fails, forbidden bool
	}{
		"no such kind":  {apierrors.NewNotFound(gvr.GroupResource(), ""), false, false},
		"no permission": {apierrors.NewForbidden(gvr.GroupResource(), "", nil), false, true},
		"no response":   {errors.New("refused"), true, false},
	} {
		t.Run(name, func(t *testing.T) {
			k8s := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{gvr: "AppWrapperList"})
			k8s.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, c.answer })
			var refused Forbidden
			list, err := Reader{Client: k8s}.list(t.Context(), &refused, gvr, "default", metav1.ListOptions{})
			if (err != nil) != c.fails || (len(refused) > 0) != c.forbidden || len(list) != 0 {
				t.Errorf("%v, %v", list, err)
			}
		})
	}
}

// The API server's cache serves the first page of each list of a watch. Further pages are read one by one. Events are
// not read, because the line that a watch prints does not depend on them.
func TestRepeatedReadsUseTheCache(t *testing.T) {
	for name, tc := range map[string]struct {
		cached bool
		want   []string
	}{
		"once":  {false, []string{"jobs ", "jobs ", "jobs ", "jobs ", "pods ", "pods ", "events ", "events "}},
		"again": {true, []string{"jobs 0", "jobs ", "jobs 0", "jobs ", "pods 0", "pods "}},
	} {
		t.Run(name, func(t *testing.T) {
			r, k8s := cluster(t, `{apiVersion: batch/v1, kind: CronJob, metadata: {name: nightly, uid: cron}}`)
			r.Cached = tc.cached
			var lists []string
			k8s.PrependReactor("list", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
				options := action.(clienttesting.ListActionImpl).ListOptions
				lists = append(lists, action.GetResource().Resource+" "+options.ResourceVersion)
				list := &unstructured.UnstructuredList{Object: map[string]any{}}
				if options.Continue == "" {
					list.SetContinue("more")
				}
				return true, list, nil
			})
			if _, err := r.Workload(t.Context(), "team", "nightly"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, lists); diff != "" {
				t.Error(diff)
			}
		})
	}
}

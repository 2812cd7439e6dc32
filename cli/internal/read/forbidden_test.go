package read

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

// forbid denies permissions, such as "list pods".
func forbid(k8s *fake.FakeDynamicClient, rights ...string) {
	for _, right := range rights {
		verb, resource, _ := strings.Cut(right, " ")
		k8s.PrependReactor(verb, resource, func(action clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: action.GetResource().Resource}, "", errors.New("not yours"))
		})
	}
}

const (
	wrapper = `{apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, metadata: {name: whole, uid: aw}}`
	wrapped = `{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: train, uid: js,
 ownerReferences: [{apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, name: whole, uid: aw, controller: true}]}}`
	deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, uid: d}}`
)

func TestForbiddenPartsOfAWorkload(t *testing.T) {
	for name, tc := range map[string]struct {
		rights     []string
		of         string
		root, told string
	}{
		"nothing":                            {nil, "train", "AppWrapper/whole", ""},
		"its owner":                          {[]string{"get appwrappers"}, "train", "JobSet/train", "get appwrappers"},
		"its JobSets and events":             {[]string{"list jobsets", "list events"}, "whole", "AppWrapper/whole", "list jobsets, list events"},
		"an unrelated kind":                  {[]string{"get jobsets"}, "web", "Deployment/web", ""},
		"ReplicaSets, which it does not use": {[]string{"list replicasets"}, "train", "AppWrapper/whole", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, k8s := cluster(t, wrapper, wrapped, deployment)
			forbid(k8s, tc.rights...)
			w, err := r.Workload(t.Context(), "team", tc.of)
			if err != nil {
				t.Fatal(err)
			}
			if w.Name() != tc.root || w.Forbidden.String() != tc.told {
				t.Errorf("root %s, forbidden %q; want %s, %q", w.Name(), w.Forbidden, tc.root, tc.told)
			}
		})
	}
}

// The state of a workload cannot be determined without its pods.
func TestForbiddenPods(t *testing.T) {
	for of, right := range map[string]string{"train": "list pods", "web": "list replicasets"} {
		r, k8s := cluster(t, wrapper, wrapped, deployment)
		forbid(k8s, right)
		if _, err := r.Workload(t.Context(), "team", of); !errors.Is(err, ErrForbidden) || err.Error() != "no permission to "+right+" in namespace team" {
			t.Errorf("%s: error %v", of, err)
		}
	}
}

// The command reports an object as not found only if the user is allowed to read its kind.
func TestNotFound(t *testing.T) {
	for name, tc := range map[string]struct {
		rights []string
		of     string
		is     error
		want   string
	}{
		"of a readable kind": {nil, "jobset/x", ErrNotFound, "not found: namespace team has no JobSet named x"},
		"of an unsupported kind": {
			nil, "pytorchjob/x", ErrNotFound, `not found: the cluster has no supported kind "pytorchjob"`,
		},
		"of a forbidden kind":                     {[]string{"get jobsets"}, "jobset/x", ErrForbidden, "no permission to get JobSet in namespace team"},
		"of a group of pods, which are forbidden": {[]string{"get pods"}, "pod/x", ErrForbidden, "no permission to get Pod in namespace team"},
		"of any kind, some of them forbidden": {
			[]string{"get appwrappers", "get jobs", "get cronjobs"}, "x", ErrForbidden,
			"no permission to get AppWrapper, CronJob, Job in namespace team",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, k8s := cluster(t)
			forbid(k8s, tc.rights...)
			if _, err := r.Workload(t.Context(), "team", tc.of); !errors.Is(err, tc.is) || err.Error() != tc.want {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestForbiddenPartsOfAPod(t *testing.T) {
	r, k8s := cluster(t, `{apiVersion: v1, kind: Pod, metadata: {name: p,
 ownerReferences: [{apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, name: whole, uid: aw, controller: true}]}}`, wrapper)
	forbid(k8s, "get appwrappers", "list events")
	p, err := r.Pod(t.Context(), "team", "p")
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Forbidden.String(); got != "get appwrappers, list events" || len(p.Owners) != 0 {
		t.Errorf("forbidden %q, %d owners", got, len(p.Owners))
	}
}

// An empty list would suggest that no time was lost.
func TestAllWithMissingPermissions(t *testing.T) {
	all := []string{"list appwrappers", "list jobsets", "list elasticjobs", "list cronjobs", "list jobs", "list deployments", "list statefulsets"}
	for name, tc := range map[string]struct {
		rights    []string
		namespace string
		count     int
		told      string
		fails     string
	}{
		"all kinds":            {nil, "team", 1, "", ""},
		"some kinds":           {[]string{"list appwrappers", "list jobs"}, "team", 1, "list appwrappers, list jobs", ""},
		"none, in a namespace": {all, "team", 0, "", "no permission to " + strings.Join(all, ", ")},
		"none, in the cluster": {all, "", 0, "", "no permission to " + strings.Join(all, ", ")},
		"AppWrappers only":     {all[1:], "team", 1, strings.Join(all[1:], ", "), ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, k8s := cluster(t, wrapper, wrapped)
			forbid(k8s, tc.rights...)
			list, refused, err := r.All(t.Context(), tc.namespace)
			if tc.fails != "" {
				if !errors.Is(err, ErrForbidden) || err.Error() != tc.fails {
					t.Errorf("error %v, want %q", err, tc.fails)
				}
				return
			}
			if err != nil || len(list) != tc.count || refused.String() != tc.told {
				t.Errorf("%d workloads, forbidden %q, error %v; want %d, %q", len(list), refused, err, tc.count, tc.told)
			}
		})
	}
}

package elasticjob

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/indexes"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
	. "github.com/holdfast-project/holdfast/elastic-operator/internal/testing/wrappers"
)

// The controller has created pod "new", and its cache may not contain the pod yet.
func TestCreatedPodIsExpected(t *testing.T) {
	for name, tc := range map[string]struct {
		cached  map[int]policy.Pod
		deleted []types.UID
		want    map[int]policy.Pod
		again   bool // whether the pod is expected again if the cache later contains no pod
	}{
		"the cache has no pod":                    {nil, nil, map[int]policy.Pod{0: {UID: "new"}}, true},
		"the cache has the deleted previous pod":  {map[int]policy.Pod{0: {UID: "old"}}, []types.UID{"old"}, map[int]policy.Pod{0: {UID: "new"}}, true},
		"the cache has the pod":                   {map[int]policy.Pod{0: {UID: "new", Bound: true}}, nil, map[int]policy.Pod{0: {UID: "new", Bound: true}}, false},
		"another pod has replaced it":             {map[int]policy.Pod{0: {UID: "newer"}}, nil, map[int]policy.Pod{0: {UID: "newer"}}, false},
		"the pod was deleted and is in the cache": {map[int]policy.Pod{0: {UID: "new"}}, []types.UID{"new"}, map[int]policy.Pod{0: {UID: "new", Terminating: true}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := New(Options{})
			job := MakeElasticJob("a").Obj()
			observed := func(pods map[int]policy.Pod) map[int]policy.Pod {
				s := &scope{job: job, services: map[int]*corev1.Service{}, facts: policy.Facts{Pods: map[int]policy.Pod{}, Memory: policy.Memory{Indexes: indexes.Of(0)}}}
				for index, pod := range pods {
					s.facts.Pods[index] = pod
				}
				r.applyExpectations(s)
				return s.facts.Pods
			}
			r.expect(createdPod{job.UID, 0}, policy.Pod{UID: "new"})
			for _, uid := range tc.deleted {
				r.expect(deleted(uid), nil)
			}
			if diff := cmp.Diff(tc.want, observed(tc.cached)); diff != "" {
				t.Error(diff)
			}
			if again := len(observed(nil)) > 0; again != tc.again {
				t.Errorf("expected again: %t", again)
			}
		})
	}
}

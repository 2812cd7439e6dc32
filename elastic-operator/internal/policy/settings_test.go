package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	. "github.com/holdfast-project/holdfast/elastic-operator/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/restart"
)

func TestSizes(t *testing.T) {
	for name, tc := range map[string]struct {
		minimum, wanted, maximum, granted *int32
		want                              [3]int
	}{
		"all are set":           {ptr.To(int32(2)), ptr.To(int32(3)), ptr.To(int32(5)), nil, [3]int{2, 3, 5}},
		"only replicas":         {nil, ptr.To(int32(3)), nil, nil, [3]int{3, 3, 3}},
		"only the bounds":       {ptr.To(int32(2)), nil, ptr.To(int32(5)), nil, [3]int{2, 5, 5}},
		"only the minimum":      {ptr.To(int32(2)), nil, nil, nil, [3]int{2, 2, 2}},
		"nothing":               {nil, nil, nil, nil, [3]int{1, 1, 1}},
		"more than the maximum": {ptr.To(int32(2)), ptr.To(int32(9)), ptr.To(int32(5)), nil, [3]int{2, 5, 5}},
		"less than the minimum": {ptr.To(int32(2)), ptr.To(int32(0)), ptr.To(int32(5)), nil, [3]int{2, 2, 5}},
		"fewer are granted":     {ptr.To(int32(2)), ptr.To(int32(5)), ptr.To(int32(5)), ptr.To(int32(3)), [3]int{2, 3, 5}},
		"more are granted":      {ptr.To(int32(2)), ptr.To(int32(3)), ptr.To(int32(5)), ptr.To(int32(5)), [3]int{2, 3, 5}},
		"more than MaxWorkers":  {ptr.To(int32(1) << 30), ptr.To(int32(1) << 30), ptr.To(int32(1) << 30), ptr.To(int32(1) << 30), [3]int{5000, 5000, 5000}},
		"more replicas than are granted, without a minimum": {nil, ptr.To(int32(6)), ptr.To(int32(8)), ptr.To(int32(4)), [3]int{4, 4, 8}},
		"fewer are granted than needed":                     {ptr.To(int32(2)), ptr.To(int32(3)), ptr.To(int32(5)), ptr.To(int32(1)), [3]int{2, 2, 5}},
	} {
		t.Run(name, func(t *testing.T) {
			s := Read(MakeElasticJob("a").With(func(j *v1alpha1.ElasticJob) {
				j.Spec.MinReplicas, j.Spec.MaxReplicas, j.Spec.GrantedReplicas = tc.minimum, tc.maximum, tc.granted
				j.Spec.ReplicaSpecs.Worker.Replicas = tc.wanted
			}).Obj())
			if got := [3]int{s.Min, s.Wanted, s.Max}; got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

// The upstream controller reads the run policy from a separate key, but its documentation shows the fields at the top level.
func TestRunPolicyIsReadFromAllFields(t *testing.T) {
	run := v1alpha1.RunPolicy{
		CleanPodPolicy: ptr.To(v1alpha1.CleanAll), TTLSecondsAfterFinished: ptr.To(int32(1)), ActiveDeadlineSeconds: ptr.To(int64(2)), BackoffLimit: ptr.To(int32(7)),
	}
	for name, change := range map[string]func(*v1alpha1.ElasticJobSpec){
		"at the top level": func(s *v1alpha1.ElasticJobSpec) { s.RunPolicy = run },
		"in runPolicy":     func(s *v1alpha1.ElasticJobSpec) { s.NestedRunPolicy = &run },
		"in RunPolicy":     func(s *v1alpha1.ElasticJobSpec) { s.LegacyRunPolicy = &run },
		"in several fields": func(s *v1alpha1.ElasticJobSpec) {
			s.BackoffLimit, s.NestedRunPolicy = run.BackoffLimit, &v1alpha1.RunPolicy{CleanPodPolicy: run.CleanPodPolicy, ActiveDeadlineSeconds: run.ActiveDeadlineSeconds}
			s.LegacyRunPolicy = &v1alpha1.RunPolicy{CleanPodPolicy: ptr.To(v1alpha1.CleanNone), TTLSecondsAfterFinished: run.TTLSecondsAfterFinished}
		},
	} {
		s := Read(MakeElasticJob("a").With(func(j *v1alpha1.ElasticJob) { change(&j.Spec) }).Obj())
		if s.Clean != v1alpha1.CleanAll || *s.TTL != time.Second || *s.Deadline != 2*time.Second || *s.Backoff != restart.Budget(7) {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestDefaults(t *testing.T) {
	s := Read(MakeElasticJob("a").Obj())
	want := Settings{
		Min: 1, Wanted: 2, Max: 5, Restart: v1alpha1.RestartExitCode, Backoff: new(restart.Budget(3)), Success: v1alpha1.SuccessPolicy{Type: v1alpha1.SuccessAll},
		Clean: v1alpha1.CleanNone, Settle: 30 * time.Second, LostNode: time.Minute, SurplusPending: 10 * time.Minute, SurplusRetry: 30 * time.Minute,
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
	if s := Read(MakeElasticJob("a").Restart(v1alpha1.RestartAlways).Obj()); s.Backoff != nil {
		t.Error("restart policy Always has a back-off limit")
	}
	if s := Read(MakeElasticJob("a").Queue("q").Obj()); s.Clean != v1alpha1.CleanRunning || !s.Suspend || s.Queue != "q" {
		t.Errorf("queued: %+v", s)
	}
}

func TestInvalidMemoryIsEmpty(t *testing.T) {
	m, err := ReadMemory(&v1alpha1.ElasticJobStatus{Indexes: "0-2,x", CompletedIndexes: "1"})
	if err == nil || len(m.Indexes) != 0 || !m.Completed.Has(1) {
		t.Errorf("%+v %v", m, err)
	}
}

package plan

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"
)

func TestResize(t *testing.T) {
	spec := func(parallelism, completions int32, mode batchv1.CompletionMode) batchv1.JobSpec {
		return batchv1.JobSpec{Parallelism: &parallelism, Completions: &completions, CompletionMode: &mode}
	}
	const indexed, unindexed = batchv1.IndexedCompletion, batchv1.NonIndexedCompletion
	for name, c := range map[string]struct {
		job, rjob batchv1.JobSpec
		differs   bool
	}{
		"the same size":                     {spec(2, 2, indexed), spec(2, 2, indexed), false},
		"larger":                            {spec(2, 2, indexed), spec(3, 3, indexed), true},
		"smaller":                           {spec(2, 2, indexed), spec(1, 1, indexed), true},
		"nothing":                           {spec(2, 2, indexed), spec(0, 0, indexed), false},
		"a size that the API would reject":  {spec(2, 2, indexed), spec(3, 4, indexed), false},
		"a Job that cannot change its size": {spec(2, 4, indexed), spec(3, 3, indexed), false},
		"Jobs without indexes":              {spec(2, 2, unindexed), spec(3, 3, unindexed), false},
	} {
		current := &batchv1.Job{Spec: c.job}
		job, differs := Resize(current, &c.rjob)
		if differs != c.differs {
			t.Errorf("%s: differs %v", name, differs)
		}
		if differs && (ptr.Deref(job.Spec.Parallelism, 0) != *c.rjob.Parallelism || ptr.Deref(job.Spec.Completions, 0) != *c.rjob.Completions || *current.Spec.Parallelism != 2) {
			t.Errorf("%s: %d/%d", name, *job.Spec.Parallelism, *job.Spec.Completions)
		}
	}
}

package health

import "testing"

func TestActivePods(t *testing.T) {
	waves := ChildJobs{ReplicatedJob: "w", Count: 2, Unfinished: 2, Parallelism: 4, Completions: 10}
	driver := ChildJobs{ReplicatedJob: "d", Count: 1, Unfinished: 1, Parallelism: 1, Completions: 1}
	finished := ChildJobs{ReplicatedJob: "w", Count: 2, Unfinished: 1, Parallelism: 4, Completions: 10}
	for name, tc := range map[string]struct {
		jobs      []ChildJobs
		succeeded map[ChildJob]int32
		want      int32
	}{
		"at the start":                              {[]ChildJobs{waves, driver}, nil, 9},
		"after the first wave of one Job":           {[]ChildJobs{waves, driver}, map[ChildJob]int32{{"w", "0"}: 4}, 9},
		"one Job in its last wave":                  {[]ChildJobs{waves, driver}, map[ChildJob]int32{{"w", "0"}: 8, {"w", "1"}: 2}, 7},
		"the driver has succeeded":                  {[]ChildJobs{waves, driver}, map[ChildJob]int32{{"d", "0"}: 1}, 8},
		"all have succeeded":                        {[]ChildJobs{waves}, map[ChildJob]int32{{"w", "0"}: 10, {"w", "1"}: 10}, 0},
		"more pods have succeeded than needed":      {[]ChildJobs{waves}, map[ChildJob]int32{{"w", "0"}: 11, {"w", "1"}: 10}, 0},
		"the completed Job was deleted":             {[]ChildJobs{finished}, map[ChildJob]int32{{"w", "1"}: 4}, 4},
		"pods of another replicatedJob":             {[]ChildJobs{waves}, map[ChildJob]int32{{"x", "0"}: 10}, 8},
		"more Jobs than in the spec, after scaling": {[]ChildJobs{driver}, map[ChildJob]int32{{"d", "0"}: 0, {"d", "1"}: 0, {"d", "2"}: 0}, 1},
	} {
		if got := *ActivePods(tc.jobs, tc.succeeded); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

package inplace

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
)

const (
	ready    = v1alpha2.DependencyReady
	complete = v1alpha2.DependencyComplete
)

// stepsOf formats the steps of a JobSet, such as "a:0 b:1". All pods have an agent, except the pods of the named
// replicatedJobs.
func stepsOf(js *JobSet, without ...string) string {
	return stagesOf(js, without, func(step int64, _ string) string { return fmt.Sprint(step) })
}

func stagesOf(js *JobSet, without []string, value func(step int64, release string) string) string {
	carries := make([]bool, len(js.Spec.ReplicatedJobs))
	for i, rjob := range js.Spec.ReplicatedJobs {
		carries[i] = !slices.Contains(without, rjob.Name)
	}
	var list []string
	for _, s := range Stages(js.Obj(), nil, carries) {
		list = append(list, strings.TrimPrefix(s.Prefix, "js-")+":"+value(s.Step, string(s.Release)))
	}
	return strings.Join(list, " ")
}

func TestSteps(t *testing.T) {
	js := func() *JobSet { return MakeJobSet("js") }
	cases := map[string]struct {
		js      *JobSet
		without string
		want    string
	}{
		"all at once":                       {js().Entry("a", 1).Entry("b", 1), "", "a:0 b:0"},
		"in order, each in its own step":    {js().Entry("a", 1).Entry("b", 1).Entry("c", 1).InOrder(), "", "a:0 b:1 c:2"},
		"by rules, each in its own step":    {js().Entry("a", 1).Entry("b", 1).Entry("c", 1).WaitFor(v1alpha2.WaitForSucceeded, "a").WaitFor(v1alpha2.WaitForReady, "b"), "", "a:0 b:1 c:2"},
		"by rules, after one without agent": {js().Entry("a", 1).Entry("b", 1).Entry("c", 1).WaitFor(v1alpha2.WaitForSucceeded, "a", "b"), "a", "b:0 c:1"},
		"in order, but one has no agent":    {js().Entry("a", 1).Entry("b", 1).Entry("c", 1).InOrder(), "b", "a:0 c:1"},
		"in order, but one has no pods":     {js().Entry("a", 1).Entry("b", 0).Entry("c", 1).InOrder(), "", "a:0 c:1"},
		"a driver and its workers":          {js().Entry("driver", 1).Entry("w", 2, DependsOn("driver", ready)), "", "driver:0 w:1"},
		"workers of a driver without agent": {js().Entry("driver", 1).Entry("w", 2, DependsOn("driver", ready)), "driver", "w:0"},
		"the same gate forms together": {
			js().Entry("a", 1).Entry("b", 1, DependsOn("a", ready)).Entry("c", 1, DependsOn("a", ready)), "", "a:0 b:1 c:1"},
		"the same gate, written differently": {
			js().Entry("a", 1).Entry("b", 1).Entry("c", 1, DependsOn("a", ready), DependsOn("b", ready)).
				Entry("d", 1, DependsOn("b", ready), DependsOn("a", ready)), "", "a:0 b:0 c:1 d:1"},
		"the same gate of a replicatedJob without agent": {
			js().Entry("a", 1).Entry("b", 1, DependsOn("a", ready)).Entry("c", 1, DependsOn("a", ready)), "a", "b:0 c:0"},
		"different gates do not": {
			js().Entry("a", 1).Entry("b", 1).Entry("c", 1, DependsOn("a", ready)).Entry("d", 1, DependsOn("b", ready)), "", "a:0 b:0 c:1 d:2"},
		"a chain through a replicatedJob without agent": {
			js().Entry("a", 1).Entry("b", 1, DependsOn("a", ready)).Entry("c", 1, DependsOn("b", ready)).Entry("d", 1), "b", "a:0 c:1 d:0"},
		"the shorter path comes first": {
			js().Entry("a", 1).Entry("b", 1, DependsOn("a", ready)).Entry("c", 1, DependsOn("b", ready)).Entry("d", 1, DependsOn("a", ready)), "", "a:0 b:1 c:2 d:1"},
		// The driver may complete only after its workers have, so the workers must not wait for steps that come after
		// the driver.
		"a replicatedJob that waits for a completion comes last": {
			js().Entry("driver", 1).Entry("report", 1, DependsOn("driver", complete)).
				Entry("w", 1, DependsOn("driver", ready)).Entry("x", 1, DependsOn("w", ready)), "", "driver:0 report:3 w:1 x:2"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := stepsOf(c.js, strings.Fields(c.without)...); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// Regardless of the dependencies, each step comes after all steps that its replicatedJobs wait for.
func TestStepsFollowDependencies(t *testing.T) {
	const entries = 5
	for graph := range 1 << (2 * entries) {
		js := MakeJobSet("js")
		for i := range entries {
			var deps []func(*v1alpha2.ReplicatedJob)
			for d := range min(i, 2) {
				if graph>>(2*i+d)&1 == 1 {
					status := ready
					if (graph+d)%3 == 0 {
						status = complete
					}
					deps = append(deps, DependsOn(fmt.Sprint("e", i-1-d), status))
				}
			}
			js.Entry(fmt.Sprint("e", i), 1, deps...)
		}
		step := map[string]int64{}
		for i, s := range Stages(js.Obj(), nil, []bool{true, true, true, true, true}) {
			rjob := js.Spec.ReplicatedJobs[i]
			step[rjob.Name] = s.Step
			for _, d := range rjob.DependsOn {
				if step[d.Name] >= s.Step {
					t.Fatalf("graph %d: %s is in step %d, and %s, which it waits for, in %d", graph, rjob.Name, s.Step, d.Name, step[d.Name])
				}
			}
		}
	}
}

func TestReleases(t *testing.T) {
	pair := func() *JobSet { return MakeJobSet("js").Entry("a", 1).Entry("b", 1) }
	gated := func() *JobSet {
		return MakeJobSet("js").Entry("a", 1).Entry("b", 1, DependsOn("a", complete))
	}
	cases := map[string]struct {
		js   *JobSet
		want string
	}{
		"without a policy all are needed":     {pair(), "a:needed b:needed"},
		"all, without targets":                {pair().Success(v1alpha2.OperatorAll), "a:needed b:needed"},
		"all of one":                          {pair().Success(v1alpha2.OperatorAll, "b"), "a: b:needed"},
		"any, without targets":                {pair().Success(v1alpha2.OperatorAny), "a:free b:free"},
		"any of one":                          {pair().Success(v1alpha2.OperatorAny, "a"), "a:free b:"},
		"a gate waits for a completion":       {gated(), "a:gate b:needed"},
		"also of one that is not a target":    {gated().Success(v1alpha2.OperatorAll, "b"), "a:gate b:needed"},
		"a rule waits for a completion":       {pair().WaitFor(v1alpha2.WaitForSucceeded, "a"), "a:gate b:needed"},
		"a rule that waits for Ready":         {pair().WaitFor(v1alpha2.WaitForReady, "a"), "a:needed b:needed"},
		"one that may complete alone is free": {gated().Success(v1alpha2.OperatorAny, "a"), "a:free b:"},
		"a gate that waits for Ready holds none": {
			MakeJobSet("js").Entry("a", 1).Entry("b", 1, DependsOn("a", ready)), "a:needed b:needed"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := stagesOf(c.js, nil, func(_ int64, release string) string { return release }); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

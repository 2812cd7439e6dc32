package inject

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
)

// living returns a Job of a replicatedJob with the given value of InPlaceInjectionKey, with or without an agent.
func living(rjob, mark string, hasAgent bool) *batchv1.Job {
	w := MakeJob("js-"+rjob+"-0", rjob)
	if mark != "" {
		w.Annotations[v1alpha2.InPlaceInjectionKey] = mark
	}
	if hasAgent {
		w.Spec.Template.Spec.InitContainers = []corev1.Container{{Args: []string{"--worker-jobset-uid=x"}}}
	}
	return w.Obj()
}

func TestFirstJobsOfAnAttemptDecide(t *testing.T) {
	problem := plain().Entry("other", 1)
	cases := map[string]struct {
		js       *JobSet
		current  []*batchv1.Job
		settings Settings
		want     string // the mark; agents are added if it is "true"
	}{
		"no Jobs yet":                        {plain(), nil, complete, "true"},
		"agents are added already":           {plain(), []*batchv1.Job{living("workers", "true", true)}, complete, "true"},
		"workers without agents are running": {plain(), []*batchv1.Job{living("workers", "", false)}, complete, "false"},
		"no agents could be added at first":  {plain(), []*batchv1.Job{living("workers", "false", false)}, complete, "false"},
		"one of them has the mark":           {plain(), []*batchv1.Job{living("a", "false", false), living("b", "true", true)}, complete, "true"},
		"no store":                           {plain(), nil, Settings{ExecImage: "i"}, "false"},
		"no image":                           {plain(), nil, Settings{Store: supervise.Store{Address: "a:1"}}, "false"},
		"no image of another driver":         {plain(), nil, Settings{Store: supervise.Store{Address: "a:1"}, ExecImage: "i"}, "true"},
		"no image of the sidecar":            {plain(on(v1alpha2.InPlaceDriverKey, "cri")), nil, Settings{Store: supervise.Store{Address: "a:1"}, ExecImage: "i"}, "false"},
		"one replicatedJob has a problem, none gets a driver": {problem, nil, complete, "false"},
		"there is nothing to add":                             {plain(byHand), nil, complete, ""},
		"nothing is requested":                                {plain(on(v1alpha2.InPlaceDriverKey, "none")), nil, complete, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			template := c.js.Spec.ReplicatedJobs[0].Template.Spec
			job := build(c.js, 0, c.settings, c.current...)
			if got := job.Annotations[v1alpha2.InPlaceInjectionKey]; got != c.want {
				t.Errorf("the mark is %q, want %q", got, c.want)
			}
			if added := !equality.Semantic.DeepEqual(template, job.Spec); added != (c.want == "true") {
				t.Errorf("added: %v", added)
			}
		})
	}
}

// An agent that was added is recognized later: a Job template that was copied from a Job is not changed again.
func TestAddingIsIdempotent(t *testing.T) {
	for _, driver := range []string{"exec", "cri"} {
		js := plain(on(v1alpha2.InPlaceDriverKey, driver))
		once := build(js, 0, complete)
		if !inplace.HasAgent(&once.Spec.Template.Spec) {
			t.Errorf("%s: the added agent is not recognized", driver)
		}
		js.Spec.ReplicatedJobs[0].Template.Spec = once.Spec
		if a := Assess(js.Obj()); a.Adds() || len(a.Problems)+len(a.Warnings) > 0 {
			t.Errorf("%s: %+v", driver, a)
		}
		if diff := cmp.Diff(once.Spec, build(js, 0, complete).Spec); diff != "" {
			t.Errorf("%s: added twice: %s", driver, diff)
		}
	}
}

func TestJobsShareNoMemory(t *testing.T) {
	js := plain()
	a, b := build(js, 0, complete), build(js, 0, complete)
	a.Spec.Template.Spec.Containers[0].Command[0] = "changed"
	a.Spec.Template.Spec.Containers[0].Env[0].ValueFrom.FieldRef.FieldPath = "changed"
	*a.Spec.Template.Spec.InitContainers[0].SecurityContext.RunAsUser = 0
	if diff := cmp.Diff(build(js, 0, complete), b); diff != "" {
		t.Error(diff)
	}
}

func TestCarriers(t *testing.T) {
	none := on(v1alpha2.InPlaceDriverKey, "none")
	staged := func() *JobSet {
		return plain().Entry("late", 1, worker(func(c *corev1.Container) { c.Command = []string{"x"} }))
	}
	cases := map[string]struct {
		js      *JobSet
		current []*batchv1.Job
		want    []bool
	}{
		"no Jobs yet, so it is not decided":             {staged(), nil, []bool{false, false}},
		"what comes later gets one as well":             {staged(), []*batchv1.Job{living("workers", "true", true)}, []bool{true, true}},
		"workers without agents are running":            {staged(), []*batchv1.Job{living("workers", "", false)}, []bool{false, false}},
		"no agents could be added":                      {staged(), []*batchv1.Job{living("workers", "false", false)}, []bool{false, false}},
		"one replicatedJob wants none":                  {staged().Entry("aside", 1, none), []*batchv1.Job{living("workers", "true", true)}, []bool{true, true, false}},
		"a Job without one takes its replicatedJob out": {staged(), []*batchv1.Job{living("workers", "true", true), living("workers", "true", false)}, []bool{false, true}},
		"in any order":                                  {staged(), []*batchv1.Job{living("workers", "true", false), living("workers", "true", true)}, []bool{false, true}},
		"agents by hand need no Job":                    {plain(byHand).Entry("driver", 1), nil, []bool{true, false}},
		"a Job that has an agent without a request":     {plain(none), []*batchv1.Job{living("workers", "true", true)}, []bool{true}},
		"a Job of a replicatedJob that is gone":         {plain(byHand), []*batchv1.Job{living("gone", "", false)}, []bool{true}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Carriers(c.js.Obj(), Assess(c.js.Obj()), c.current)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

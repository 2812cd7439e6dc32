package beside

import (
	"math"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

const me = "ns/holdfast-inplace"

var settings = inject.Settings{Store: supervise.Store{Address: "valkey:6379"}, ExecImage: "exec:1"}

// asking returns a JobSet with two Jobs that requests in-place restarts.
func asking() *JobSet {
	return MakeJobSet("js").Workers(2).MaxRestarts(3).Annotation(v1alpha2.InPlaceTimeoutKey, "60s").Change(func(js *v1alpha2.JobSet) {
		js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Containers[0].Command = []string{"train"}
	})
}

// created returns a Job as the API server passes it to webhooks, with defaults.
func created(js *v1alpha2.JobSet) *batchv1.Job {
	job := MakeJob("js-workers-0", "workers").Label(v1alpha2.JobSetNameKey, js.Name).Obj()
	job.Spec = *js.Spec.ReplicatedJobs[0].Template.Spec.DeepCopy()
	job.Spec.BackoffLimit, job.Spec.PodReplacementPolicy = ptr.To[int32](6), ptr.To(batchv1.TerminatingOrFailed)
	delete(job.Annotations, epoch.Annotation)
	return job
}

func led(by string) func(*batchv1.Job) {
	return func(job *batchv1.Job) { job.Annotations[v1alpha2.LedByKey] = by }
}

// A JobSet without a failure policy, as created by Kubeflow Trainer, sets its budget in an annotation.
func TestBudget(t *testing.T) {
	none := func(js *v1alpha2.JobSet) { js.Spec.FailurePolicy = nil }
	for name, c := range map[string]struct {
		js      *JobSet
		want    int32
		refused bool
	}{
		"of a failure policy":                           {asking(), 3, false},
		"of a failure policy, alongside the annotation": {asking().Annotation(v1alpha2.MaxRestartsKey, "many"), 3, false},
		"of the annotation":                             {asking().Change(none).Annotation(v1alpha2.MaxRestartsKey, "20"), 20, false},
		"of neither":                                    {asking().Change(none), 0, false},
		"of an invalid annotation":                      {asking().Change(none).Annotation(v1alpha2.MaxRestartsKey, "many"), 0, true},
		"of a negative annotation":                      {asking().Change(none).Annotation(v1alpha2.MaxRestartsKey, "-1"), 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			js := c.js.Obj()
			if got := int32(Budget(js)); got != c.want {
				t.Errorf("%d restarts, want %d", got, c.want)
			}
			if why := Refusal(js); strings.Contains(why, v1alpha2.MaxRestartsKey) != c.refused {
				t.Errorf("refused: %q", why)
			}
		})
	}
}

func TestPrepare(t *testing.T) {
	sibling := func(change func(*batchv1.Job)) []*batchv1.Job {
		job := created(asking().Obj())
		if change != nil {
			change(job)
		}
		return []*batchv1.Job{job}
	}
	for name, c := range map[string]struct {
		js      *JobSet
		current []*batchv1.Job
		change  func(*batchv1.Job)
		s       inject.Settings
		want    bool
	}{
		"the first of a JobSet that requests agents":     {asking(), nil, nil, settings, true},
		"one whose siblings are prepared":                {asking(), sibling(led(me)), nil, settings, true},
		"one whose siblings were missed":                 {asking(), sibling(nil), nil, settings, false},
		"one whose siblings another installation leads":  {asking(), sibling(led("other/one")), nil, settings, false},
		"of a JobSet that this installation has claimed": {asking().Annotation(v1alpha2.LedByKey, me), nil, nil, settings, true},
		"of a JobSet that another has claimed":           {asking().Annotation(v1alpha2.LedByKey, "other/one"), nil, nil, settings, false},
		"prepared by another installation":               {asking(), nil, led("other/one"), settings, false},
		"created by our own controller":                  {asking(), nil, func(job *batchv1.Job) { job.Annotations[epoch.Annotation] = "1" }, settings, false},
		"without a replicatedJob":                        {asking(), nil, func(job *batchv1.Job) { job.Labels[v1alpha2.ReplicatedJobNameKey] = "x" }, settings, false},
		"of a JobSet that requests no agents":            {MakeJobSet("js").Workers(2), nil, nil, settings, false},
		"that cannot have an agent":                      {MakeJobSet("js").Workers(2).Annotation(v1alpha2.InPlaceTimeoutKey, "60s"), nil, nil, settings, false},
		"with restartStrategy InPlaceRestart":            {asking().Strategy(v1alpha2.InPlaceRestart), nil, nil, settings, false},
		"with an invalid annotation":                     {asking().Annotation(v1alpha2.FormingTimeoutKey, "soon"), nil, nil, settings, false},
		"without an image to add":                        {asking(), nil, nil, inject.Settings{Store: settings.Store}, false},
	} {
		t.Run(name, func(t *testing.T) {
			js := c.js.Obj()
			job := created(js)
			if c.change != nil {
				c.change(job)
			}
			got := Prepare(js, c.current, job, c.s, me)
			if got != c.want || inplace.HasAgent(&job.Spec.Template.Spec) != c.want {
				t.Errorf("prepared: %v, with an agent: %v; want %v", got, inplace.HasAgent(&job.Spec.Template.Spec), c.want)
			}
		})
	}
}

func TestPreparedJobFailsWithoutALeader(t *testing.T) {
	for name, c := range map[string]struct {
		authors  *int32
		workers  int32
		restarts int32
		want     int32
	}{
		"a failure of each worker in each restart": {nil, 8, 3, 32},
		"never below the default":                  {nil, 1, 0, 6},
		"a higher limit by the author is kept":     {ptr.To[int32](100), 8, 3, 100},
		"an unlimited budget results in no limit":  {nil, 1 << 18, math.MaxInt32, math.MaxInt32},
		"a limit of 0 by the author is raised":     {ptr.To[int32](0), 2, 1, 4},
	} {
		t.Run(name, func(t *testing.T) {
			js := asking().MaxRestarts(c.restarts).Change(func(js *v1alpha2.JobSet) {
				spec := &js.Spec.ReplicatedJobs[0].Template.Spec
				spec.BackoffLimit, spec.Parallelism, spec.Completions = c.authors, &c.workers, &c.workers
			}).Obj()
			job := created(js)
			if !Prepare(js, nil, job, settings, me) {
				t.Fatal(Refusal(js))
			}
			if got := *job.Spec.BackoffLimit; got != c.want {
				t.Errorf("backoffLimit is %d, want %d", got, c.want)
			}
			if *job.Spec.PodReplacementPolicy != batchv1.Failed {
				t.Error("the Job replaces pods whose workers may still be running")
			}
		})
	}
}

func TestJobBelongsToTheNextGeneration(t *testing.T) {
	for name, c := range map[string]struct {
		js   *JobSet
		want string
	}{
		"the first":                                {asking(), "1"},
		"that of the JobSet":                       {asking().Annotation(epoch.Annotation, `{"epoch":4,"base":2,"recreate":0}`), "4"},
		"the next, after a recreation":             {asking().Annotation(epoch.Annotation, `{"epoch":4,"base":2,"recreate":0}`).Restarts(1, 1), "5"},
		"one that already includes the recreation": {asking().Annotation(epoch.Annotation, `{"epoch":5,"base":3,"recreate":0,"restarts":1,"counted":1}`).Restarts(1, 1), "5"},
		"an unreadable one is the first":           {asking().Annotation(epoch.Annotation, "x"), "1"},
	} {
		t.Run(name, func(t *testing.T) {
			js := c.js.Obj()
			job := created(js)
			if !Prepare(js, nil, job, settings, me) {
				t.Fatal(Refusal(js))
			}
			if job.Annotations[epoch.Annotation] != c.want || job.Spec.Template.Annotations[epoch.Annotation] != c.want {
				t.Errorf("epoch %q on the Job, %q on its pods; want %s", job.Annotations[epoch.Annotation], job.Spec.Template.Annotations[epoch.Annotation], c.want)
			}
		})
	}
}

func TestRefusalNamesTheCause(t *testing.T) {
	for want, js := range map[string]*JobSet{
		"":                      asking(),
		"InPlaceRestart":        asking().Strategy(v1alpha2.InPlaceRestart),
		`"60" `:                 asking().Annotation(v1alpha2.InPlaceTimeoutKey, "60"),
		"containers[0].command": MakeJobSet("js").Workers(1).Annotation(v1alpha2.InPlaceTimeoutKey, "60s"),
		"set it on the JobSet": MakeJobSet("js").Workers(1).Change(func(js *v1alpha2.JobSet) {
			js.Spec.ReplicatedJobs[0].Template.Spec.Template.Annotations = map[string]string{v1alpha2.InPlaceTimeoutKey: "60s"}
		}),
		"exceed the limit": asking().Change(func(js *v1alpha2.JobSet) { js.Spec.ReplicatedJobs[0].Replicas = 1<<20 + 1 }),
	} {
		if got := Refusal(js.Obj()); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%q does not contain %q", got, want)
		}
	}
}

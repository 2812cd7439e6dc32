package inplace

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
)

// Stages returns the slots of a JobSet's group: those of the replicatedJobs that have pods with an agent. carries
// reports for each replicatedJob whether its pods have one. The number of pods is taken from the Job if it exists,
// because a change to the JobSet does not change its existing Jobs. While Jobs are being resized one by one
// (ElasticJobSet feature gate), the first Job determines the size for all.
func Stages(js *v1alpha2.JobSet, jobs []*batchv1.Job, carries []bool) []coordination.Stage {
	sizes, gates, awaited := sizesOf(jobs), gatesOf(&js.Spec), completionsAwaited(&js.Spec)
	var stages []coordination.Stage
	var waitFor []gate
	for i := range js.Spec.ReplicatedJobs {
		rjob := &js.Spec.ReplicatedJobs[i]
		spec := &rjob.Template.Spec
		if job := sizes[rjob.Name]; job != nil {
			spec = &job.Spec
		}
		stage := coordination.Stage{
			Prefix: js.Name + "-" + rjob.Name, Jobs: int64(rjob.Replicas), Pods: int64(policy.PodsOf(spec)),
			Release: releaseOf(js.Spec.SuccessPolicy, rjob.Name, awaited[rjob.Name]),
		}
		if carries[i] && stage.Slots() > 0 {
			stages, waitFor = append(stages, stage), append(waitFor, gates[i])
		}
	}
	order(stages, waitFor)
	return stages
}

// sizesOf returns the Job that determines the size of each replicatedJob. The result does not depend on the order of
// jobs.
func sizesOf(jobs []*batchv1.Job) map[string]*batchv1.Job {
	sizes := map[string]*batchv1.Job{}
	for _, job := range jobs {
		rjob := job.Labels[v1alpha2.ReplicatedJobNameKey]
		if known := sizes[rjob]; known == nil || speaksBefore(job, known) {
			sizes[rjob] = job
		}
	}
	return sizes
}

// speaksBefore reports whether a, rather than b, determines the size. An unfinished Job takes precedence over a
// finished one, which is never resized. Otherwise, the Job with the lower index takes precedence.
func speaksBefore(a, b *batchv1.Job) bool {
	if over := policy.Finished(a); over != policy.Finished(b) {
		return !over
	}
	return cmp.Or(cmp.Compare(indexOf(a), indexOf(b)), cmp.Compare(a.Name, b.Name)) < 0
}

// indexOf returns the index of a Job in its replicatedJob. An unreadable index is sorted last.
func indexOf(job *batchv1.Job) int {
	index, err := strconv.Atoi(job.Labels[v1alpha2.JobIndexKey])
	if err != nil {
		return math.MaxInt
	}
	return index
}

// maxSlots limits the memory that one group uses in the store.
const maxSlots = 1 << 20

// TooLarge returns the reason why the stages are too large for one group, or "" if they are not.
func TooLarge(stages []coordination.Stage) string {
	var n int64
	for _, stage := range stages {
		n += stage.Slots()
	}
	if n > maxSlots {
		return fmt.Sprintf("%d workers exceed the limit of %d workers in a group", n, maxSlots)
	}
	if err := group.Fits(stages); err != nil {
		return err.Error()
	}
	return ""
}

// gate is what a replicatedJob waits for before its Jobs start. ReplicatedJobs with the same gate start together and
// form one step. ReplicatedJobs with different gates are ordered by the following criteria:
//
//	fewest completions first   a step that can start never waits for one that must finish
//	then the shortest path     a step comes after everything that it depends on
//	then the order of the spec
//
// ReplicatedJobs without agents open gates like all others, but form no steps themselves.
type gate struct {
	completions int    // number of completions required on the longest path to this gate
	depth       int    // number of gates on the longest path to this gate
	key         string // identifies the dependencies of the replicatedJob itself
}

func gatesOf(spec *v1alpha2.JobSetSpec) []gate {
	gates := make([]gate, len(spec.ReplicatedJobs))
	byName := make(map[string]gate, len(gates))
	for i, dependencies := range dependenciesOf(spec) {
		gates[i] = gateOf(dependencies, byName)
		byName[spec.ReplicatedJobs[i].Name] = gates[i]
	}
	return gates
}

// dependenciesOf returns what each replicatedJob waits for. In an ordered start, that is the previous replicatedJob, and
// thus every earlier completion required by a rule.
func dependenciesOf(spec *v1alpha2.JobSetSpec) [][]v1alpha2.DependsOn {
	waits := policy.StartupWaits(spec)
	all := make([][]v1alpha2.DependsOn, len(waits))
	for i := range all {
		all[i] = spec.ReplicatedJobs[i].DependsOn
		if i > 0 && policy.InOrder(spec) {
			previous := v1alpha2.DependsOn{Name: spec.ReplicatedJobs[i-1].Name, Status: v1alpha2.DependencyReady}
			if waits[i-1] == v1alpha2.WaitForSucceeded {
				previous.Status = v1alpha2.DependencyComplete
			}
			all[i] = []v1alpha2.DependsOn{previous}
		}
	}
	return all
}

// gateOf returns the gate for the given dependencies. It looks them up among the earlier replicatedJobs, because the
// API does not allow others.
func gateOf(dependencies []v1alpha2.DependsOn, earlier map[string]gate) gate {
	var g gate
	var parts []string
	for _, d := range dependencies {
		before := earlier[d.Name]
		if d.Status == v1alpha2.DependencyComplete {
			before.completions++
		}
		g.completions = max(g.completions, before.completions)
		g.depth = max(g.depth, before.depth+1)
		parts = append(parts, d.Name+"="+string(d.Status))
	}
	slices.Sort(parts)
	g.key = strings.Join(parts, " ")
	return g
}

// order numbers the steps of the stages, given the gate of each stage.
func order(stages []coordination.Stage, gates []gate) {
	var steps []gate
	for _, g := range gates {
		if !slices.Contains(steps, g) {
			steps = append(steps, g)
		}
	}
	slices.SortStableFunc(steps, func(a, b gate) int {
		return cmp.Or(cmp.Compare(a.completions, b.completions), cmp.Compare(a.depth, b.depth))
	})
	for i, g := range gates {
		stages[i].Step = int64(slices.Index(steps, g))
	}
}

// releaseOf returns how long the finished workers of a replicatedJob are held, so that a restart can run them again.
// They are held until the success policy is satisfied or, if a gate waits for their completion, until the whole stage
// has finished. With the Any operator, one successful Job completes the JobSet, so its workers must not be held. A gate
// that did not open would block everything after it.
func releaseOf(success *v1alpha2.SuccessPolicy, rjob string, awaited bool) coordination.Release {
	target := success == nil || len(success.TargetReplicatedJobs) == 0 || slices.Contains(success.TargetReplicatedJobs, rjob)
	switch {
	case target && success != nil && success.Operator == v1alpha2.OperatorAny:
		return coordination.ReleaseFree
	case awaited:
		return coordination.ReleaseGate
	case target:
		return coordination.ReleaseNeeded
	}
	return coordination.ReleaseHeld
}

// completionsAwaited returns the replicatedJobs whose completion others wait for.
func completionsAwaited(spec *v1alpha2.JobSetSpec) map[string]bool {
	awaited := map[string]bool{}
	for _, dependencies := range dependenciesOf(spec) {
		for _, d := range dependencies {
			awaited[d.Name] = awaited[d.Name] || d.Status == v1alpha2.DependencyComplete
		}
	}
	return awaited
}

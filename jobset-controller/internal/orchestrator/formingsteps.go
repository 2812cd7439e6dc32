package orchestrator

import (
	"context"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/forming"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// formingStep is a step of the group as the rules of package forming see it.
type formingStep struct {
	forming.Step
	number int64
	units  []int     // of the step, whose workers have not all joined
	since  time.Time // when somebody began to wait for it
	named  bool      // long enough ago for its workers to be named
}

func (f *formingStep) nameAfter() time.Duration { return min(namedAfter, f.Period/3) }

// formingSteps are the steps that have not entered, in order, and whose workers have not all joined.
func (r *Reconciler) formingSteps(ctx context.Context, s *scope) ([]formingStep, error) {
	var steps []formingStep
	for u, unit := range s.group.Units {
		if unit.Entered || unit.Left || unit.Joined == unit.Slots {
			continue
		}
		if n := len(steps); n == 0 || steps[n-1].number != unit.Step {
			steps = append(steps, formingStep{number: unit.Step, Step: forming.Step{
				Period: s.inPlace.FormingTimeout, Now: s.now, Answered: s.state.formation.in(s.group.Generation).answered[unit.Step],
			}})
		}
		step := &steps[len(steps)-1]
		step.Waiting += unit.Slots - unit.Joined
		step.units = append(step.units, u)
	}
	if len(steps) == 0 {
		return nil, nil
	}
	slots, err := r.formingSlots(ctx, s)
	if err != nil {
		return nil, err
	}
	for i := range steps {
		for _, stage := range s.group.Stages {
			if stage.Step == steps[i].number {
				steps[i].Slots = append(steps[i].Slots, slots.of(stage)...)
			}
		}
	}
	for i := range steps {
		if err := r.dateStep(ctx, s, &steps[i]); err != nil {
			return nil, err
		}
	}
	return steps, nil
}

// dateStep finds out since when a step is waited for and, if that is long, who is missing.
func (r *Reconciler) dateStep(ctx context.Context, s *scope, step *formingStep) error {
	record := s.group.Record
	if s.group.Phase == coordination.Forming {
		step.Opened = time.UnixMilli(record.ReportedAt)
	}
	step.since = time.UnixMilli(max(record.ReportedAt, record.InSyncAt))
	for _, slot := range step.Slots {
		if slot.Job != nil && slot.Job.CreationTimestamp.After(step.since) {
			step.since = slot.Job.CreationTimestamp.Time
		}
	}
	_, failed := forming.Worst(step.Slots, step.Opened)
	if step.named = failed || s.now.Sub(step.since) >= step.nameAfter(); !step.named {
		return nil
	}
	missing, err := r.missingOf(ctx, s, step)
	step.Missing = missing
	return err
}

// missingOf are the slots of a step that have not joined.
func (r *Reconciler) missingOf(ctx context.Context, s *scope, step *formingStep) ([]forming.Slot, error) {
	waited := sets.New[string]()
	for _, unit := range step.units {
		names, err := s.group.MissingOf(ctx, r.Store, string(s.js.UID), unit)
		if err != nil {
			return nil, storeFailed(err)
		}
		waited.Insert(names...)
	}
	return slices.DeleteFunc(slices.Clone(step.Slots), func(slot forming.Slot) bool { return !waited.Has(slot.Name) }), nil
}

// formingSlots are the Jobs and pods of a group by slot.
type formingSlots struct {
	jobs   map[string]*batchv1.Job
	before map[string]*batchv1.Job // those of earlier attempts included
	worker map[string]string       // by Job
	store  map[string]string       // by Job
	newest map[string]*corev1.Pod
	failed map[string]int32 // pods before the newest one
}

func (r *Reconciler) formingSlots(ctx context.Context, s *scope) (*formingSlots, error) {
	list, err := r.listPods(ctx, s)
	if err != nil {
		return nil, err
	}
	f := &formingSlots{
		jobs: map[string]*batchv1.Job{}, before: map[string]*batchv1.Job{}, worker: map[string]string{}, store: map[string]string{},
		newest: map[string]*corev1.Pod{}, failed: map[string]int32{},
	}
	for _, job := range s.currentJobs() {
		spec := &job.Spec.Template.Spec
		f.jobs[job.Name], f.worker[job.Name], f.store[job.Name] = job, inplace.WorkerContainer(spec), inplace.StoreAddress(spec)
	}
	for i := range s.jobs {
		f.before[s.jobs[i].Name] = &s.jobs[i]
	}
	for i := range list {
		slot := inplace.SlotOf(&list[i])
		if job, _, _ := inplace.JobOf(slot); isOf(&list[i], f.jobs[job]) && epoch.OfJob(list[i].Annotations) >= s.epoch.Epoch {
			f.add(slot, &list[i])
		}
	}
	return f, nil
}

// add keeps the newest pod of a slot, and counts those before it that have failed.
func (f *formingSlots) add(slot string, pod *corev1.Pod) {
	older := f.newest[slot]
	if older == nil || !pod.CreationTimestamp.Before(&older.CreationTimestamp) {
		f.newest[slot], pod = pod, older
	}
	if pod != nil && pod.Status.Phase == corev1.PodFailed && pod.DeletionTimestamp == nil {
		f.failed[slot]++
	}
}

func (f *formingSlots) of(stage coordination.Stage) []forming.Slot {
	var list []forming.Slot
	for job := range stage.Jobs {
		name := stage.Prefix + "-" + strconv.FormatInt(job, 10)
		for pod := range stage.Pods {
			slot := name + "-" + strconv.FormatInt(pod, 10)
			list = append(list, forming.Slot{
				Name: slot, Job: f.jobs[name], Before: f.before[name], Pod: f.newest[slot], Failed: f.failed[slot], Worker: f.worker[name], Store: f.store[name],
			})
		}
	}
	return list
}

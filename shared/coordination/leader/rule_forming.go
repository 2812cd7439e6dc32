package leader

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/forming"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/series"
)

const (
	// namedAfter is how long workers may take to join before an event names the missing ones. By then most have joined, unless an
	// image is being pulled.
	namedAfter = 30 * time.Second
	// formingResync is how often a waiting step is read again once its missing workers have been named.
	formingResync = 10 * time.Second
)

// form handles steps that are waiting for workers to join for the first time. It charges failures, names the missing workers and
// acts on timeouts.
func (p *planner) form() {
	var steps []formingStep
	if p.active() {
		steps = p.formingSteps()
	}
	if len(p.plan.Need.Missing) > 0 {
		return
	}
	if len(steps) == 0 {
		p.memory.formation = formation{}
		return
	}
	p.plan.Waits = map[forming.Kind]int{}
	for i := range steps {
		if p.formStep(&steps[i]); len(p.plan.Actions) > 0 {
			return
		}
		if steps[i].named {
			for kind, n := range steps[i].Waits() {
				p.plan.Waits[kind] += n
			}
		}
	}
	m := &p.memory.formation
	p.remove(m.pending, ForForming, func(_ victim, live *workload.Pod) bool { return !live.Deleting })
	if len(p.plan.Actions) == 0 && len(p.plan.Need.Pods) == 0 {
		m.pending = slices.DeleteFunc(m.pending, func(v victim) bool {
			_, read := p.Reads.Pods[v.pod.Name]
			return read
		})
	}
}

// formingStep is a step of the group as package forming needs it.
type formingStep struct {
	forming.Step
	number int64
	units  []int     // units of the step whose workers have not all joined
	since  time.Time // when the group began to wait for the step
	named  bool      // the step has waited long enough for its missing workers to be named
}

func (f *formingStep) nameAfter() time.Duration { return min(namedAfter, f.Period/3) }

// formingSteps returns, in order, the steps that have not entered and whose workers the group is still waiting for.
func (p *planner) formingSteps() []formingStep {
	var steps []formingStep
	memory := p.memory.formation.in(p.group.Level)
	for u, unit := range p.group.Units {
		if unit.Entered || unit.Left || unit.Joined == unit.Slots {
			continue
		}
		if n := len(steps); n == 0 || steps[n-1].number != unit.Step {
			steps = append(steps, formingStep{number: unit.Step, Step: forming.Step{
				Period: p.Owner.FormingTimeout, Now: p.now, Answered: memory.answered[unit.Step],
			}})
		}
		step := &steps[len(steps)-1]
		step.Waiting += unit.Slots - unit.Joined
		step.units = append(step.units, u)
	}
	for i := range steps {
		for _, stage := range p.group.Stages {
			if stage.Step == steps[i].number {
				steps[i].Slots = append(steps[i].Slots, p.formingSlots(stage)...)
			}
		}
		p.dateStep(&steps[i])
	}
	return steps
}

// formingSlots returns the slots of a stage, each with its newest pod.
func (p *planner) formingSlots(stage coordination.Stage) []forming.Slot {
	var list []forming.Slot
	for n := range stage.Jobs {
		name := fmt.Sprintf("%s-%d", stage.Prefix, n)
		before := p.job(name)
		job := before
		if job != nil && !job.Current {
			job = nil
		}
		for pod := range stage.Pods {
			slot := forming.Slot{Name: stage.Slot(n, pod), Job: job, Before: before}
			slot.Pod, slot.Failed = p.formingPod(job, slot.Name)
			list = append(list, slot)
		}
	}
	return list
}

// formingPod returns the newest pod of a slot, and how many earlier pods have failed.
func (p *planner) formingPod(job *workload.Job, slot string) (newest *workload.Pod, failed int32) {
	if given := p.seating().by[slot]; given != nil {
		return given, 0
	}
	for _, pod := range p.workersOf(slot) {
		if job == nil || pod.Job != job.UID || pod.Generation < p.Owner.Epoch.Epoch {
			continue
		}
		older := newest
		if newest == nil || !pod.Created.Before(newest.Created) {
			newest = pod
		} else {
			older = pod
		}
		if older != nil && older.Phase == workload.Failed && !older.Deleting {
			failed++
		}
	}
	return newest, failed
}

// dateStep determines how long the group has been waiting for a step and, if it has waited long enough, which workers are
// missing.
func (p *planner) dateStep(step *formingStep) {
	record := p.group.Record
	if p.group.Phase == coordination.Forming {
		step.Opened = time.UnixMilli(record.ReportedAt)
	}
	if step.since = time.UnixMilli(max(record.ReportedAt, record.InSyncAt)); step.since.After(p.now) {
		step.since = time.Time{} // the store's clock is ahead
	}
	for _, slot := range step.Slots {
		if slot.Job != nil && slot.Job.Created.After(step.since) {
			step.since = slot.Job.Created
		}
	}
	_, failed := forming.Worst(step.Slots, step.Opened)
	if step.named = failed || p.now.Sub(step.since) >= step.nameAfter(); !step.named {
		return
	}
	names, known := p.missing(step.units...)
	if !known {
		return
	}
	waited := make(map[string]bool, len(names))
	for _, name := range names {
		waited[name] = true
	}
	for _, slot := range step.Slots {
		if waited[slot.Name] {
			step.Missing = append(step.Missing, slot)
		}
	}
}

func (p *planner) formStep(step *formingStep) {
	if p.chargeExits(step) {
		return
	}
	p.nameMissing(step)
	switch step.Answer() {
	case forming.Replace:
		p.replaceMissing(step)
	case forming.Recreate: // in the next epoch, unless the failure that is charged ends the owner
		text := step.Text()
		if usedUp := p.failOver(forming.KindForming, text); usedUp {
			p.reportUsedUp(text, "")
		}
	}
	if deadline, runs := step.Clock(); runs {
		p.resyncIn(deadline.Remaining(p.now) + time.Millisecond)
	}
}

// chargeExits charges failures that happened before all workers of the step had joined. A death that was reported to the store is
// not included, because the round that it opens is charged.
func (p *planner) chargeExits(step *formingStep) bool {
	worst, found := forming.Worst(step.Slots, step.Opened)
	if !found {
		return false
	}
	failures := worst.Times
	if p.group.Died {
		failures--
	}
	budget := p.Owner.Budget
	epoch, charged, more := forming.Charge(p.Owner.Epoch, p.Owner.Charged, budget, p.group.Round, failures)
	if !more {
		return false
	}
	p.do(Annotate{Epoch: &epoch, Charged: &charged})
	p.count(series.EarlyFailures, float64(epoch.Base-p.Owner.Epoch.Base))
	if budget.Exceeded(charged) {
		p.event(true, EventUsedUp, fmt.Sprintf("%s, and all %d restarts are used up: the %s fails", worst.Text(), budget, p.ownerKind()))
	} else {
		p.event(true, EventEarly, fmt.Sprintf("%s; starting it again (restart %d of %d)", worst.Text(), charged, budget))
	}
	return true
}

// nameMissing names the missing workers of a step in the condition and, once per epoch, in an event.
func (p *planner) nameMissing(step *formingStep) {
	if !step.named {
		p.resyncIn(step.since.Add(step.nameAfter()).Sub(p.now))
		return
	}
	_, runs := step.Clock()
	if runs {
		p.resyncIn(formingResync)
	}
	if p.forming != "" || p.group.Phase == coordination.Restarting {
		return
	}
	text := step.Text()
	p.forming = text
	expected := !runs && p.group.Phase != coordination.Forming // a later step is expected to wait while the other steps run
	if named := p.memory.formation.named; !expected && !named[step.number] {
		named[step.number] = true
		p.event(runs, EventWaiting, text)
	}
}

// replaceMissing schedules the pods of the missing slots for deletion. Their Job creates new ones.
func (p *planner) replaceMissing(step *formingStep) {
	m := &p.memory.formation
	m.answered[step.number] = p.now
	why := fmt.Sprintf("did not join within %s (%s)", step.Period, forming.WaitOf(step.Missing[0], p.now).Text)
	for _, slot := range step.Missing {
		m.pending = append(m.pending, victim{slot: slot.Name, pod: slot.Pod, why: why})
	}
}

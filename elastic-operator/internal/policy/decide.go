package policy

import (
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

// Decide what becomes of a job.
func Decide(f *Facts) *Decision {
	d := &decider{Facts: f, m: f.Memory.clone(), out: &Decision{}}
	switch {
	case f.Deleted:
		d.out.LeaveServices = true // the garbage collector removes all
	case d.m.Ended != "":
		d.cleanUp()
	case f.Settings.Suspend:
		d.suspend()
	default:
		d.run()
	}
	d.report()
	d.enroll()
	d.out.Memory = d.m
	return d.out
}

// decider is one decision in the making.
type decider struct {
	*Facts
	m   Memory
	out *Decision
	// failed workers that were counted in this reconcile.
	counted int
}

func (d *decider) run() {
	d.begin()
	d.account()
	d.resize()
	d.outcome()
	if d.m.Ended != "" {
		d.cleanUp()
		return
	}
	d.repair()
}

// begin the first run, or that after a suspension.
func (d *decider) begin() {
	if d.m.Suspended {
		d.m.Suspended = false
		d.event(Event{Reason: v1alpha1.ReasonResumed, Action: actionResume, Note: "ElasticJob " + d.Name + " is resumed."})
	}
	if d.m.Started.IsZero() {
		d.m.Started = d.Now
	}
}

// suspend removes all pods but those whose logs are all that is left of them. What has been counted stays counted.
func (d *decider) suspend() {
	if !d.m.Suspended {
		d.event(Event{Reason: v1alpha1.ReasonSuspended, Action: actionSuspend, Note: "ElasticJob " + d.Name + " is suspended."})
		if !d.m.Started.IsZero() { // each start begins with an open rendezvous
			d.m.Resumes++
		}
	}
	d.m.Suspended = true
	d.m.Started, d.m.BelowMin, d.m.GivenBack = time.Time{}, time.Time{}, nil
	d.out.LeaveServices = true
	for _, i := range d.podIndexes() {
		pod := d.Pods[i]
		switch {
		case d.m.Completed.Has(i):
		case pod.Phase == Succeeded && !pod.Terminating && d.m.Indexes.Has(i):
			d.m.Completed = d.m.Completed.With(i)
		default:
			d.remove(i, pod, "the job is suspended")
		}
	}
	d.m.Indexes = slices.Clone(d.m.Completed)
}

// cleanUp after the end.
func (d *decider) cleanUp() {
	s := d.Settings
	stop := s.Clean == v1alpha1.CleanRunning || s.Clean == v1alpha1.CleanAll || d.m.Overdue
	d.out.LeaveServices = !stop
	for _, i := range d.podIndexes() {
		pod := d.Pods[i]
		switch {
		case len(d.m.Indexes) > 0 && !d.m.Indexes.Has(i) && !pod.over():
			d.remove(i, pod, "it is not wanted any more")
		case stop && !pod.over(), s.Clean == v1alpha1.CleanAll:
			d.remove(i, pod, "the job has finished")
		default:
			// what goes on meets at it; what is left of a job that has failed has nothing to wait for
			d.out.Rendezvous = d.out.Rendezvous || !pod.over() && d.m.Ended == v1alpha1.JobSucceeded
			d.out.Services = d.out.Services.With(i)
		}
	}
	if s.TTL == nil {
		return
	}
	if end := d.m.EndedAt.Add(*s.TTL); d.Now.Before(end) {
		d.requeueAt(end)
	} else {
		d.out.RemoveJob = true
	}
}

// remove a pod, unless that has been asked for. One on a lost node goes without the node's consent.
func (d *decider) remove(i int, pod Pod, why string) {
	if pod.Terminating && pod.Node != NodeLost {
		return
	}
	d.out.Delete = append(d.out.Delete, Deletion{Index: i, UID: pod.UID, Force: pod.Node == NodeLost, Why: why})
}

// podIndexes in ascending order, so that decisions are the same for the same facts.
func (d *decider) podIndexes() []int {
	list := make([]int, 0, len(d.Pods))
	for i := range d.Pods {
		list = append(list, i)
	}
	slices.Sort(list)
	return list
}

func (d *decider) event(e Event) { d.out.Events = append(d.out.Events, e) }

// requeueAt reconciles again at a time, if nothing happens before.
func (d *decider) requeueAt(at time.Time) {
	after := max(at.Sub(d.Now), time.Millisecond)
	if d.out.After == 0 || after < d.out.After {
		d.out.After = after
	}
}

// Package policy decides what to do about an ElasticJob: which workers it should have, which workers have failed and are replaced or
// abandoned, and when the job has succeeded or failed. It performs no I/O: the input is Facts, the output is a Decision.
//
// Each step of a decision has its own file:
//
//	memory + pods -> account     -> resize       -> outcome   -> repair  -> report
//	                 (count each    (choose the     (success,    (create,   (conditions,
//	                 fault once)    indexes)        failure,     delete     counts)
//	                                                deadline)    pods)
//
// Memory is the part of the job's status in which the decisions are recorded. It is written before pods are changed, so an interrupted
// reconcile can be repeated: no fault is counted twice, and a worker that was scaled down does not return.
//
// Randomized tests check these invariants: there are never more workers than maxReplicas; deletions by the policy never reduce the
// running workers below minReplicas; without new faults the job reaches the desired number of workers.
package policy

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

// Decide returns what to do about a job.
func Decide(f *Facts) *Decision {
	d := &decider{Facts: f, m: f.Memory, out: &Decision{Status: f.Status.DeepCopy()}}
	d.m.Workers = maps.Collect(maps.All(f.Memory.Workers)) // a copy to change; the index sets and pointers are only ever replaced
	switch {
	case d.m.Ended != "":
		d.cleanUp()
	case f.Settings.Suspend:
		d.suspend()
	default:
		d.run()
	}
	d.report()
	d.updateRoster()
	d.m.Write(d.out.Status)
	d.out.Memory = d.m
	return d.out
}

// decider builds one decision.
type decider struct {
	*Facts
	m   Memory
	out *Decision
}

func (d *decider) run() {
	d.start()
	d.account()
	d.resize()
	d.outcome()
	if d.m.Ended != "" {
		d.cleanUp()
		return
	}
	d.repair()
}

// start starts or resumes the job.
func (d *decider) start() {
	if d.m.Suspended {
		d.m.Suspended = false
		d.event(corev1.EventTypeNormal, "", v1alpha1.ReasonResumed, "ElasticJob "+d.Name+" is resumed.")
	}
	if d.m.Started.IsZero() {
		d.m.Started = d.Now
	}
}

// suspend deletes all pods except those of completed workers, which are kept for their logs. It keeps all counts.
func (d *decider) suspend() {
	if !d.m.Suspended {
		d.event(corev1.EventTypeNormal, "", v1alpha1.ReasonSuspended, "ElasticJob "+d.Name+" is suspended.")
		if !d.m.Started.IsZero() { // the next run needs a new rendezvous, because departing workers close this one
			d.out.Status.Resumes++
		}
	}
	d.m.Suspended = true
	d.m.Started, d.m.BelowMin, d.out.Status.GivenBack = time.Time{}, time.Time{}, nil
	d.out.KeepServices = true
	for _, i := range d.podIndexes() {
		pod := d.Pods[i]
		switch {
		case d.m.Completed.Has(i):
		case pod.Phase == corev1.PodSucceeded && !pod.Terminating && d.m.Indexes.Has(i):
			d.m.Completed = d.m.Completed.With(i)
		default:
			d.remove(i, pod)
		}
	}
	d.m.Indexes = d.m.Completed
}

// cleanUp deletes the pods of a finished job according to its cleanPodPolicy, and the job after its TTL.
func (d *decider) cleanUp() {
	s := d.Settings
	stop := s.Clean == v1alpha1.CleanRunning || s.Clean == v1alpha1.CleanAll || d.m.Overdue
	d.out.KeepServices = !stop
	for _, i := range d.podIndexes() {
		pod := d.Pods[i]
		switch {
		case len(d.m.Indexes) > 0 && !d.m.Indexes.Has(i) && !pod.terminated():
			d.remove(i, pod)
		case stop && !pod.terminated(), s.Clean == v1alpha1.CleanAll:
			d.remove(i, pod)
		default:
			// remaining workers of a successful job still need the rendezvous; those of a failed job do not
			d.out.Rendezvous = d.out.Rendezvous || !pod.terminated() && d.m.Ended == v1alpha1.JobSucceeded
			d.out.Services = d.out.Services.With(i)
		}
	}
	d.out.RemoveJob = s.TTL != nil && d.reached(d.m.EndedAt.Add(*s.TTL))
}

// remove deletes a pod that is not already terminating. A pod on a lost node is deleted without waiting for the kubelet.
func (d *decider) remove(i int, pod Pod) {
	if pod.Terminating && pod.Node != NodeLost {
		return
	}
	d.out.Delete = append(d.out.Delete, Deletion{Index: i, UID: pod.UID, Force: pod.Node == NodeLost})
}

// podIndexes returns the indexes of all pods in ascending order, so that decisions are deterministic.
func (d *decider) podIndexes() []int {
	return slices.Sorted(maps.Keys(d.Pods))
}

func (d *decider) event(kind, pod, reason, note string) {
	d.out.Events = append(d.out.Events, Event{kind, pod, reason, note})
}

// reached reports whether the given time has come. If not, it schedules a reconcile at that time.
func (d *decider) reached(at time.Time) bool {
	if d.Now.Before(at) {
		d.requeueAt(at)
		return false
	}
	return true
}

// requeueAt schedules a reconcile at the given time, unless an earlier one is scheduled.
func (d *decider) requeueAt(at time.Time) {
	after := max(at.Sub(d.Now), time.Millisecond)
	if d.out.After == 0 || after < d.out.After {
		d.out.After = after
	}
}

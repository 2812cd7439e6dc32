package simulation

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

// reconciliation is a leader's reconcile in progress.
type reconciliation struct {
	js    jobSet
	o     leader.Observation
	seen  map[string]time.Duration // when a slot was read live
	plans int
	calls int         // number of store calls
	plan  leader.Plan // the plan that is being executed
}

// maxPlans and maxCalls limit the cost of a reconcile, which rereads the group after each plan with actions and acts on each slot
// at most a few times.
func (w *world) maxPlans() int { return 20 + 10*len(w.slots) }
func (w *world) maxCalls() int { return 20 + 10*len(w.slots) }

// observe builds the observation from the caches.
func (o *orchestrator) observe(r *reconciliation) {
	r.o.Owner = o.owner(r.js)
	current := o.controller.current(r.js)
	r.o.Jobs = nil
	for _, j := range o.jobs {
		if j.owner == r.js.uid || o.mutant.AnyOwner {
			r.o.Jobs = append(r.o.Jobs, o.plainJob(j, slices.Contains(current, j)))
		}
	}
	if o.mutant.Observe != nil {
		o.mutant.Observe(&r.o)
	}
}

// plainPods returns the pods in the informer's cache.
func (o *orchestrator) plainPods(uid string) []*workload.Pod {
	var list []*workload.Pod
	for _, p := range o.pods {
		if p.job.owner == uid && !p.gone && !o.unseen[p] {
			list = append(list, o.plainPod(p))
		}
	}
	return list
}

// owner returns what the JobSet asks for, and what is recorded on it.
func (o *orchestrator) owner(js jobSet) leader.Owner {
	owner := leader.Owner{
		UID: js.uid, Name: jobSetName, Version: js.generation, Deleted: js.deleted, Epoch: js.epoch, Charged: js.charged, Counted: js.counted,
		Budget: o.budget(), Timeout: o.shape.Timeout, FormingTimeout: o.shape.Forming, Annotations: js.annotations(),
		InSync: js.inSync.plain(), Recovering: js.recovering.plain(), PolicyPrefix: "recreate/", PolicyCounted: js.restarts == js.recounts,
	}
	owner.Epoch.Base = max(owner.Epoch.Base, js.recounts)
	if !js.finished() && !js.deleted {
		barrier := !slices.ContainsFunc(o.shape.Entries, func(e Entry) bool { return e.Driver == CRI })
		owner.Wanted = &group.Wanted{
			Stages: stagesOf(o.entries(js)), Suspended: js.suspended, Barrier: barrier, Finished: o.finishedSlots(js), MaxPause: 32 * time.Second,
		}
	}
	return owner
}

func (js *jobSet) annotations() map[string]string {
	values := map[string]string{}
	if js.mark != "" {
		values[recovering.Annotation] = js.mark
	}
	if js.history != "" {
		values[historyAnnotation] = js.history
	}
	return values
}

// finishedSlots returns the slots of the completed indexes in the current Jobs. It returns none between the two writes of a
// restart by the failure policy, which writes the epoch before the restart count, because the Jobs then still belong to the
// previous attempt.
func (o *orchestrator) finishedSlots(js jobSet) []string {
	var done []string
	if o.controller.begun(js) {
		return nil
	}
	for _, j := range o.controller.current(js) {
		for _, s := range j.seats {
			if s.completed {
				done = append(done, s.slot)
			}
		}
	}
	return done
}

// moment converts a time of the simulation to the control plane's clock.
func moment(at time.Duration) time.Time { return beginning.Add(at) }

func (o *orchestrator) plainJob(j *job, current bool) *workload.Job {
	plain := &workload.Job{
		Name: j.name, UID: j.uid, Stage: j.entry.stage().Prefix, Generation: j.epoch, Current: current, Deleting: j.deleting, Suspended: j.suspended,
		Created: moment(j.created), Started: moment(j.started), Pods: int64(len(j.seats)), Failures: int32(j.failures),
		Sidecar: j.entry.Driver == CRI, Findable: true, Worker: "worker", MadePods: j.made, Indexes: len(j.seats),
		Spares: j.spares, Over: j.gone || j.failed || j.complete(),
	}
	for index, s := range j.seats {
		if s.completed {
			plain.Completed = append(plain.Completed, [2]int{index, index})
		}
	}
	return plain
}

// plainPod returns a pod as it is in the API server.
func (o *orchestrator) plainPod(p *pod) *workload.Pod {
	plain := &workload.Pod{
		Name: p.uid, UID: p.uid, Slot: p.slot, Given: p.given, Waits: p.waits, Job: p.job.uid, Generation: int32(p.epoch), Node: p.node.name, Created: moment(p.created),
		Phase: workload.Phase(p.phase), Scheduling: &workload.Scheduling{Done: true, At: moment(p.created)},
		Deleting: p.deleting, Asked: moment(p.asked), Due: moment(p.asked + o.shape.Grace),
		Containers: []workload.Container{p.status()},
	}
	if p.ended() && !p.told {
		plain.Phase = workload.Running
	}
	if o.mutant.Hasty && p.deleting {
		plain.Phase = workload.Failed
	}
	return plain
}

// status returns the kubelet's status of the worker's container. A supervisor runs as long as its pod. A disconnected kubelet
// does not report changes.
func (p *pod) status() workload.Container {
	c := workload.Container{Name: "worker", Restarts: int32(max(0, p.births-1))}
	last := p.newest()
	switch {
	case p.stuck:
		c.Waiting, c.Reason = true, "CreateContainerError"
	case p.culprits[p.slot] == NeverStarts && p.born == 0:
		c.Waiting, c.Reason = true, "ImagePullBackOff"
	case p.born == 0 || (last == nil && p.driver() == CRI):
		c.Waiting, c.Reason = true, "ContainerCreating"
	case p.driver() == Exec || p.node.cut || last.running:
		c.Running, c.Since = true, moment(p.created)
	case p.waiting:
		c.Waiting, c.Last = true, &workload.Exit{Code: int32(last.code), At: moment(last.exited)}
		if wait := p.loop.wait(last.exited); wait > 0 {
			c.Reason, c.Message = "CrashLoopBackOff", fmt.Sprintf("back-off %s restarting failed container=worker", wait)
		}
	default:
		c.Exited = &workload.Exit{Code: int32(last.code), At: moment(last.exited)}
	}
	return c
}

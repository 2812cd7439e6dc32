package simulation

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/history"
)

const historyAnnotation = history.Annotation

// Why a pod is released: it was lost, it is about to be deleted because the group is waiting for its slot, or the store has lost
// its fence.
const (
	lostPod = "the release of a lost pod"
	repair  = "the release to repair"
	again   = "the release once more"
)

// whyReleased returns the reason for a release, given the rule that planned it.
func whyReleased(rule string, a leader.Release) string {
	switch {
	case rule == "repair", rule == "forming", rule == "fences":
		return repair
	case rule == "losses" && a.PodName == "":
		return again
	}
	return lostPod
}

// reconcile observes, plans and acts until the group is in the desired state.
func (o *orchestrator) reconcile() {
	if o.cache == nil {
		return
	}
	o.busy = true
	r := &reconciliation{js: *o.cache, seen: map[string]time.Duration{}}
	if o.memoryOf != r.js.uid {
		o.memory, o.memoryOf = &leader.Memory{}, r.js.uid
	}
	r.o = leader.Observation{Began: moment(o.now), Token: o.token, Pods: o.plainPods(r.js.uid)}
	r.o.Lost, o.losses = o.losses, nil
	r.o.Lost = slices.DeleteFunc(r.o.Lost, func(l leader.Loss) bool {
		return !slices.ContainsFunc(o.jobs, func(j *job) bool { return j.uid == l.Pod.Job && j.owner == r.js.uid })
	})
	o.observe(r)
	if r.o.Owner.Wanted == nil && !r.js.counted {
		o.finish(resyncEvery)
		return
	}
	o.readGroup(r)
}

// plan makes and executes the next plan.
func (o *orchestrator) plan(r *reconciliation) {
	o.serial++
	r.o.Incarnation = fmt.Sprint("i", o.serial)
	plan := leader.Decide(&r.o, o.memory, moment(o.now))
	if o.mutant.Plan != nil {
		plan = o.mutant.Plan(&r.o, plan)
	}
	r.plan = plan
	if r.plans++; r.plans > o.maxPlans() {
		o.world.fail("L7", "a reconcile makes %d plans, the last one by rule %s", r.plans, plan.Rule)
	}
	switch {
	case plan.Err != nil:
		o.note(o.name, "gives up: %v, rule %s", plan.Err, plan.Rule)
		o.fail(r, time.Second)
	case len(plan.Actions) > 0:
		o.act(r, plan.Actions)
	case plan.Acts():
		o.read(r, plan.Need)
	default:
		o.report(plan.Events)
		o.reportDone(r)
		next := o.random.between(resyncEvery/2, resyncEvery*3/2)
		if plan.Resync > 0 {
			next = min(next, plan.Resync)
		}
		o.finish(next)
	}
}

// fail ends a reconcile early.
func (o *orchestrator) fail(r *reconciliation, retry time.Duration) {
	o.reportDone(r)
	o.losses = append(o.losses, r.o.Lost...)
	o.finish(retry)
}

// readGroup reads the group from the store and then plans.
func (o *orchestrator) readGroup(r *reconciliation) {
	o.ask(r, func(v *server) (*rounds.Stored, error) { return v.group(r.js.uid) }, o.plan)
}

// ask sends a request to the store that returns the group's state, and continues with that state.
func (o *orchestrator) ask(r *reconciliation, serve func(*server) (*rounds.Stored, error), then func(*reconciliation)) {
	if !o.survives() {
		return
	}
	if r.calls++; r.calls > o.maxCalls() {
		o.world.fail("L7", "a reconcile calls the store %d times, the last time for rule %s", r.calls, r.plan.Rule)
	}
	request(o.link, serve, func(stored *rounds.Stored, err error) {
		switch {
		case !o.survives():
		case err == nil || errors.Is(err, coordination.ErrForeignValue):
			r.o.Stored, r.o.Foreign = stored, err
			then(r)
		default:
			o.note(o.name, "the store call failed: %v", err)
			o.fail(r, o.random.between(500*time.Millisecond, 1500*time.Millisecond))
		}
	})
}

// read executes a plan's reads.
func (o *orchestrator) read(r *reconciliation, need leader.Need) {
	if len(need.Nodes) > 0 || need.Objects() {
		ask(&o.process, o.random, func() error { o.readObjects(r, need); return nil }, func(error) { o.readGroup(r) })
		return
	}
	o.ask(r, func(v *server) (*rounds.Stored, error) {
		before := r.o.Stored
		v.answer(r, need)
		return before, nil
	}, o.plan)
}

// answer executes reads in the store.
func (s *server) answer(r *reconciliation, need leader.Need) {
	s.reads++
	uid, level := r.js.uid, r.o.Stored.State.Level
	if r.o.Reads.Missing == nil || r.o.Reads.MissingLevel != level {
		r.o.Reads.Missing, r.o.Reads.MissingLevel = map[int][]string{}, level
	}
	g, keys := group.Summarize(r.o.Stored), rounds.KeysOf(uid)
	for _, u := range need.Missing {
		joined, _ := s.functions.Look(uid, keys.Joined(level, u), g.Units[u].SlotNames()) // a forged table is unusable
		r.o.Reads.Missing[u] = g.Units[u].Missing(joined)
	}
	holders, _ := s.functions.Look(uid, keys.Holders(level.Generation), need.Holders)
	for _, slot := range need.Holders {
		r.o.Reads.SetHolder(slot, holders[slot])
	}
	if need.History {
		lines, err := s.functions.History(uid)
		r.o.Reads.History, r.o.Reads.HistoryRead, r.o.Reads.HistoryForeign = lines, true, errors.Is(err, coordination.ErrForeignValue)
	}
}

// readObjects executes reads in the API server.
func (o *orchestrator) readObjects(r *reconciliation, need leader.Need) {
	reads := &r.o.Reads
	for _, name := range need.Nodes {
		set(&reads.Nodes, name, o.readNode(name))
	}
	for _, p := range need.Pods {
		var live *workload.Pod
		if found := o.findPod(p.UID); found != nil {
			live = o.plainPod(found)
		}
		set(&reads.Pods, p.Name, live)
	}
	for _, j := range need.Jobs {
		var live *workload.Job
		if found := o.findJob(j.UID); found != nil {
			live = o.plainJob(found, j.Current)
		}
		set(&reads.Jobs, j.Name, live)
	}
	for _, slot := range need.Slots {
		set(&reads.Slots, slot.Slot, leader.SlotRead{At: moment(o.now), Pods: o.slotPods(r.js.uid, slot.Slot)})
		r.seen[slot.Slot] = o.now
	}
}

func set[V any](m *map[string]V, key string, value V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = value
}

func (o *orchestrator) readNode(name string) leader.Node {
	for _, n := range o.nodes {
		if n.name == name && n.lost {
			return leader.Node{Dead: "its node is gone", Unready: true}
		} else if n.name == name {
			return leader.Node{Unready: n.cut}
		}
	}
	return leader.Node{Failed: true}
}

// slotPods returns all pods of a slot in the API server or, with the mutant Blind, those in the cache.
func (o *orchestrator) slotPods(uid, slot string) []*workload.Pod {
	var list []*workload.Pod
	for _, p := range o.pods {
		if p.slot == slot && p.job.owner == uid && !p.gone && !(o.mutant.Blind && o.unseen[p]) {
			list = append(list, o.plainPod(p))
		}
	}
	return list
}

// act executes the actions one by one and then makes the next plan.
func (o *orchestrator) act(r *reconciliation, actions []leader.Action) {
	if len(actions) == 0 {
		o.report(r.plan.Events)
		o.plan(r)
		return
	}
	o.execute(r, actions[0], func(result leader.Result) {
		r.o.Record(o.memory, actions[0], result)
		o.act(r, actions[1:])
	})
}

func (o *orchestrator) execute(r *reconciliation, action leader.Action, done func(leader.Result)) {
	ok := func(*reconciliation) { done(leader.Result{}) }
	uid := r.js.uid
	switch a := action.(type) {
	case leader.WriteGroup:
		o.note(o.name, "writes the group: %s", a.Reason)
		o.ask(r, func(v *server) (*rounds.Stored, error) { return v.write(uid, a.Write) }, ok)
	case leader.DropGroup:
		o.ask(r, func(v *server) (*rounds.Stored, error) { v.drop(uid); return nil, nil }, ok)
	case leader.Release:
		o.note(o.name, "releases %s%s", a.Pod, toHeir(a))
		o.ask(r, func(v *server) (*rounds.Stored, error) {
			return v.release(uid, o.token, a.Slot, a.Cause(), whyReleased(r.plan.Rule, a), a.Heir)
		}, ok)
	case leader.Annotate:
		o.annotate(r, a, done)
	case leader.SetConditions:
		o.atAPI(func() leader.Result {
			_ = o.api.status(uid, func(js *jobSet) {
				js.inSync, js.recovering = conditionFrom(a.InSync), conditionFrom(a.Recovering)
				js.formed = a.InSync != nil && a.InSync.True
			})
			return leader.Result{}
		}, done)
	case leader.AnnotatePod:
		o.atAPI(func() leader.Result { return o.annotatePod(a) }, done)
	case leader.DeletePod:
		o.atAPI(func() leader.Result { return o.deleteOnce(a) }, done)
	case leader.DeleteJob:
		o.atAPI(func() leader.Result { return o.deleteJob(r, a) }, done)
	case leader.CreatePod:
		o.atAPI(func() leader.Result { return o.createFor(r, a) }, done)
	}
}

// atAPI sends a request to the API server.
func (o *orchestrator) atAPI(do func() leader.Result, done func(leader.Result)) {
	var result leader.Result
	ask(&o.process, o.random, func() error { result = do(); return nil }, func(error) { done(result) })
}

// annotate updates the JobSet by compare-and-set, based on the version that this reconcile has read.
func (o *orchestrator) annotate(r *reconciliation, a leader.Annotate, done func(leader.Result)) {
	change := func(js *jobSet) { apply(js, a) }
	if o.mutant.DeleteFirst && a.Epoch != nil && a.Epoch.Recreate == a.Epoch.Epoch {
		for _, j := range slices.Clone(o.jobs) {
			if j.owner == r.js.uid {
				o.truth.leftBehind(r.js.uid, j)
				j.remove(o.name, "before the epoch is written")
			}
		}
	}
	ask(&o.process, o.random, func() error {
		if o.mutant.BlindWrites && o.api.current != nil && o.api.current.uid == r.js.uid {
			return o.api.update(*o.api.current, o.name, change)
		}
		return o.api.update(r.js, o.name, change)
	}, func(err error) {
		if err != nil {
			o.fail(r, 20*time.Millisecond)
			return
		}
		before := r.js
		change(&r.js)
		if r.js != before {
			r.js.version++
		}
		o.observe(r) // in another epoch, other Jobs are current
		done(leader.Result{})
	})
}

func apply(js *jobSet, a leader.Annotate) {
	if a.Epoch != nil {
		js.epoch = *a.Epoch
	}
	if a.Charged != nil {
		js.charged, js.counted = *a.Charged, true
	}
	if a.Recovering != nil {
		js.mark = a.Recovering.Format()
	} else if a.ClearRecovering {
		js.mark = ""
	}
	if a.History != nil {
		js.history = *a.History
	}
}

// toHeir describes which pod is assigned the slot.
func toHeir(a leader.Release) string {
	if a.Heir == (rounds.Slot{}) {
		return ""
	}
	return fmt.Sprintf(" and gives %s to %s", a.Name, a.Heir.Pod)
}

// annotatePod annotates the pod in the API server, if the pod still exists.
func (o *orchestrator) annotatePod(a leader.AnnotatePod) leader.Result {
	p := o.findPod(a.Pod.UID)
	if p == nil {
		return leader.Result{Moot: true}
	}
	p.given = a.Slot
	o.note(o.name, "annotates %s with slot %s", p.uid, a.Slot)
	return leader.Result{}
}

// deleteOnce deletes the pod in the API server, if the pod still exists.
func (o *orchestrator) deleteOnce(a leader.DeletePod) leader.Result {
	p := o.findPod(a.Pod.UID)
	if p == nil {
		return leader.Result{Moot: true}
	}
	o.note(o.name, "deletes %s: %s", p.uid, a.For)
	if a.For == leader.ForDead {
		p.forceDelete()
	} else {
		o.deletePod(p)
	}
	return leader.Result{}
}

func (o *orchestrator) deleteJob(r *reconciliation, a leader.DeleteJob) leader.Result {
	j := o.findJob(a.Job.UID)
	if j == nil {
		return leader.Result{Moot: true}
	}
	if a.For == leader.ForEpoch {
		o.truth.leftBehind(r.js.uid, j)
	}
	j.remove(o.name, string(a.For))
	return leader.Result{}
}

// vacancy is a slot that has lost its pod, as the leader has observed it.
type vacancy struct {
	job    *job
	slot   string
	seenAt time.Duration // when a live read showed that the slot was vacant
}

// createFor creates the pod in the API server, unless the name exists or the Job was deleted.
func (o *orchestrator) createFor(r *reconciliation, a leader.CreatePod) leader.Result {
	v := vacancy{o.findJob(a.Job.UID), a.Slot, r.seen[a.Slot]}
	name := fmt.Sprintf("%s %v after %s", a.Slot, a.Round, a.Lost)
	taken := slices.ContainsFunc(o.pods, func(p *pod) bool { return p.name == name && !p.gone })
	if taken || v.job == nil {
		return leader.Result{Moot: true}
	}
	o.truth.replacing(o.name, v)
	p := o.createPod(v.job, v.slot)
	p.name, p.waits = name, a.Waits
	o.note(o.name, "creates %s in place of a lost one", p.uid)
	v.job.kick()
	return leader.Result{Pod: o.plainPod(p)}
}

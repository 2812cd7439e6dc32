package simulation

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
	"github.com/holdfast-project/holdfast/shared/restart"
)

// jobSet is the JobSet in the API server. It is used as a value, so that each reader keeps the version that it has read.
type jobSet struct {
	uid        string
	version    int64 // resource version
	generation int64 // generation of the spec
	suspended  bool
	deleted    bool
	state      string // "", completed or failed
	spares     int64  // number of spares that each replicatedJob with spares has in addition to those of the shape
	more       int64  // number of Jobs that its first replicatedJob has in addition to those of the shape

	epoch    epoch.Record
	charged  int32  // inplace-restarts
	counted  bool   // the annotation is set
	mark     string // the annotation recovering.Annotation
	formed   bool   // the condition reports that all workers are in sync
	history  string
	restarts int32 // restarts by the failure policy
	recounts int32 // how many of these count against the budget

	inSync, recovering conditionOf
}

// conditionOf is a condition of the JobSet, if it is set.
type conditionOf struct {
	leader.Condition
	set bool
}

func (c conditionOf) plain() *leader.Condition {
	if !c.set {
		return nil
	}
	return &c.Condition
}

func conditionFrom(c *leader.Condition) conditionOf {
	if c == nil {
		return conditionOf{}
	}
	return conditionOf{*c, true}
}

const (
	completed = "completed"
	failed    = "failed"
)

var (
	errConflict = errors.New("the object has changed")
	errNotFound = errors.New("not found")
)

func (js *jobSet) finished() bool { return js.state != "" }

// api is the Kubernetes API server: a compare-and-set store that notifies watchers of changes.
type api struct {
	*world
	current *jobSet // nil if there is no JobSet with the name
	uids    int
	lease   lease
	writes  int
}

// lease is the Lease used for leader election.
type lease struct {
	holder      string
	renewed     time.Duration
	transitions int64
	created     int64
}

func (l lease) token() coordination.Token {
	return coordination.Token{LeaseCreated: l.created, Transitions: l.transitions}
}

// create creates a JobSet with the same name but a new UID.
func (a *api) create() {
	a.uids++
	a.current = &jobSet{uid: fmt.Sprint("uid", a.uids), version: 1, generation: 1, epoch: epoch.First()}
	a.note("user", "creates the JobSet %s", a.current.uid)
	a.slots = a.slotsOf(*a.current)
	a.changed()
}

// update writes the JobSet if it has not changed since it was read.
func (a *api) update(read jobSet, who string, change func(*jobSet)) error {
	switch {
	case a.current == nil || a.current.uid != read.uid:
		return errNotFound
	case a.current.version != read.version:
		return errConflict
	}
	next := *a.current
	change(&next)
	if next == *a.current {
		return nil
	}
	next.version++
	before := *a.current
	a.current = &next
	a.writes++
	a.truth.wrote(who, before, next)
	a.describe(who, before, next)
	a.changed()
	return nil
}

// status writes the conditions without checking for changes since the JobSet was read.
func (a *api) status(uid string, change func(*jobSet)) error {
	if a.current == nil || a.current.uid != uid {
		return errNotFound
	}
	next := *a.current
	if change(&next); next == *a.current {
		return nil
	}
	next.version++
	a.current = &next
	for _, o := range a.orchestrators {
		o.hear(false)
	}
	return nil
}

// spec simulates a change to the spec by the user or a queue. It never conflicts.
func (a *api) spec(who string, change func(*jobSet)) {
	if a.current == nil {
		return
	}
	a.current.generation++
	if err := a.update(*a.current, who, change); err != nil {
		panic(err)
	}
}

// remove removes the object from the API server.
func (a *api) remove() {
	a.note("api", "the JobSet %s is gone", a.current.uid)
	a.current = nil
	a.changed()
}

// changed notifies all watchers.
func (a *api) changed() {
	a.controller.kick()
	for _, o := range a.orchestrators {
		o.notice()
	}
}

// describe adds to the transcript what a write has changed.
func (a *api) describe(who string, before, after jobSet) {
	if !a.log.on {
		return
	}
	if before.epoch != after.epoch {
		a.note(who, "writes epoch %s", after.epoch.Format())
	}
	if before.charged != after.charged || before.counted != after.counted {
		a.note(who, "writes inplace-restarts %d", after.charged)
	}
	if (before.mark == "") != (after.mark == "") {
		a.note(who, "marks the JobSet as recovering: %t", after.mark != "")
	}
	if before.suspended != after.suspended {
		a.note(who, "suspend: %t", after.suspended)
	}
	if before.state != after.state {
		a.note(who, "the JobSet has %s", after.state)
	}
	if before.deleted != after.deleted {
		a.note(who, "deletes the JobSet")
	}
	if before.restarts != after.restarts {
		a.note(who, "restarts by the failure policy: %d", after.restarts)
	}
}

// budget returns the number of restarts that the JobSet may use.
func (w *world) budget() restart.Budget { return restart.Budget(w.shape.Budget) }

// paid returns how many restarts were counted against the budget, by any program.
func (js *jobSet) paid() int32 { return max(js.recounts, js.charged, js.epoch.Base) }

// ask sends a request to the API server and delivers the answer. The sender may crash before or after the request.
func ask(p *process, r random, do func() error, done func(error)) {
	if !p.survives() {
		return
	}
	p.in(r.between(time.Millisecond, 10*time.Millisecond), func() {
		err := do()
		p.later(r.between(time.Millisecond, 10*time.Millisecond), func() {
			if p.survives() {
				done(err)
			}
		})
	})
}

package simulation

import "time"

// controller is the JobSet controller. It makes the Jobs match the JobSet, one write at a time, and writes the next epoch before
// it deletes the pods of a group.
type controller struct {
	process
	random random
	kicked bool
}

func newController(w *world) *controller {
	c := &controller{random: newRandom(w.seed, "controller")}
	c.process = process{world: w, name: "controller", died: func() {
		c.in(c.random.between(time.Second, 10*time.Second), func() { c.begin(); c.kicked = false; c.kick() })
	}}
	c.begin()
	return c
}

// kick schedules a reconcile.
func (c *controller) kick() {
	if c.kicked || !c.up {
		return
	}
	c.kicked = true
	c.later(c.random.between(5*time.Millisecond, 60*time.Millisecond), func() {
		c.kicked = false
		c.reconcile()
	})
}

func (c *controller) reconcile() {
	if c.api.current == nil {
		c.deleteOrphans("")
		return
	}
	js := *c.api.current
	c.deleteOrphans(js.uid)
	switch {
	case js.deleted:
		c.removeAll(js)
	case js.finished():
		c.deleteUnfinished()
	case c.decide(js):
	default:
		c.follow(js)
	}
}

// deleteOrphans acts as the garbage collector for Jobs of JobSets that are gone.
func (c *controller) deleteOrphans(uid string) {
	for _, j := range c.jobs {
		if j.owner != uid {
			j.remove("collector", "its JobSet is gone")
		}
	}
}

func (c *controller) removeAll(js jobSet) {
	for _, j := range c.jobs {
		j.remove(c.name, "the JobSet is deleted")
	}
	if len(c.jobs) == 0 && c.api.current.uid == js.uid {
		c.api.remove()
	}
}

func (c *controller) deleteUnfinished() {
	for _, j := range c.jobs {
		if !j.complete() || c.mutant.CleansUp {
			j.remove(c.name, "the JobSet has "+c.api.current.state)
		}
	}
}

// current returns the Jobs of the current attempt and epoch that are not being deleted.
func (c *controller) current(js jobSet) []*job {
	var list []*job
	for _, j := range c.jobs {
		if j.owner == js.uid && !j.previous(js) && !j.deleting {
			list = append(list, j)
		}
	}
	return list
}

// previous reports whether a restart by the failure policy or a full recreation has made the Job obsolete.
func (j *job) previous(js jobSet) bool { return j.attempt < js.restarts || js.epoch.Stale(j.epoch) }

// follow creates and deletes Jobs according to the JobSet.
func (c *controller) follow(js jobSet) {
	names, wanted := map[string]bool{}, map[string]bool{}
	for _, e := range c.entries(js) {
		for _, index := range e.jobs() {
			wanted[e.jobName(index)] = true
		}
	}
	for _, j := range c.jobs {
		names[j.name] = true
		if j.previous(js) {
			j.remove(c.name, "of an earlier attempt")
		} else if !wanted[j.name] && !j.spares {
			j.remove(c.name, "one too many")
		}
	}
	for _, e := range c.entries(js) {
		if !c.mayStart(js, e.Step) {
			continue
		}
		for _, index := range e.jobs() {
			if !names[e.jobName(index)] && c.survives() {
				c.createJob(js, e, index)
			}
		}
	}
	c.resizeSpares(js)
	if js.suspended {
		c.suspend(js)
		return
	}
	c.resume(js)
}

// mayStart reports whether a step may start if the steps start in order: all pods of earlier steps must be running or finished.
func (c *controller) mayStart(js jobSet, step int64) bool {
	for _, e := range c.entries(js) {
		if e.Step >= step {
			continue
		}
		for index := range e.Jobs {
			if !c.ready(js, e.jobName(index)) {
				c.in(500*time.Millisecond, c.kick)
				return false
			}
		}
	}
	return true
}

func (c *controller) ready(js jobSet, name string) bool {
	for _, j := range c.current(js) {
		if j.name != name {
			continue
		}
		for _, s := range j.seats {
			p := c.podOf(js.uid, s.slot)
			if !s.completed && (p == nil || p.phase != podRunning || p.deleting) {
				return false
			}
		}
		return true
	}
	return false
}

package simulation

import (
	"fmt"
	"slices"
)

// decide ends or restarts the JobSet if necessary. It returns false if there is nothing to do.
func (c *controller) decide(js jobSet) bool {
	switch {
	case c.budget().Exceeded(js.charged):
		c.write(js, func(next *jobSet) { next.state = failed })
	case c.anyFailed(js) && !c.begun(js) && !c.budget().Allows(js.paid()):
		c.write(js, func(next *jobSet) { next.state = failed })
	case c.anyFailed(js):
		c.restart(js)
	case c.allComplete(js):
		c.write(js, func(next *jobSet) { next.state = completed })
	default:
		return false
	}
	return true
}

// write updates the JobSet by compare-and-set. After a conflict, the controller reconciles again.
func (c *controller) write(js jobSet, change func(*jobSet)) {
	ask(&c.process, c.random, func() error { return c.api.update(js, c.name, change) }, func(error) { c.kick() })
}

// restart recreates all Jobs according to the failure policy. It writes the epoch first and then the restart count, after which
// the Jobs of the previous attempt are deleted.
func (c *controller) restart(js jobSet) {
	if next, opened := js.epoch.Next(policyCause(js.restarts+1), js.paid()+1); opened {
		c.write(js, func(after *jobSet) { after.epoch = next })
		return
	}
	c.write(js, func(after *jobSet) { after.restarts++; after.recounts++ })
}

func (c *controller) begun(js jobSet) bool { return js.epoch.Cause == policyCause(js.restarts+1) }

func policyCause(restarts int32) string { return fmt.Sprintf("recreate/%d", restarts) }

func (c *controller) anyFailed(js jobSet) bool {
	for _, j := range c.current(js) {
		if j.failed {
			return true
		}
	}
	return false
}

func (c *controller) allComplete(js jobSet) bool {
	current := slices.DeleteFunc(c.current(js), func(j *job) bool { return j.spares }) // spares do not count towards success
	for _, j := range current {
		if !j.complete() {
			return false
		}
	}
	var jobs int64
	for _, e := range c.entries(js) {
		jobs += e.Jobs
	}
	return int64(len(current)) == jobs
}

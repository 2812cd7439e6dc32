package simulation

import (
	"fmt"
	"time"
)

// suspend writes the epoch before it stops a Job.
func (c *controller) suspend(js jobSet) {
	running := false
	for _, j := range c.current(js) {
		running = running || (!j.suspended && !j.complete())
	}
	if !running {
		return
	}
	if next, opened := js.epoch.Next(fmt.Sprintf("suspend/%d", js.generation), js.paid()); opened && !c.mutant.SuspendFirst {
		c.write(js, func(after *jobSet) { after.epoch = next })
		return
	}
	for _, j := range c.current(js) {
		if !j.suspended && !j.complete() && c.survives() {
			c.truth.suspended(j)
			c.hold(j, true)
		}
	}
	if c.mutant.SuspendFirst {
		next, _ := js.epoch.Next(fmt.Sprintf("suspend/%d", js.generation), js.paid())
		c.later(3*time.Second, func() { c.write(*c.api.current, func(after *jobSet) { after.epoch = next }) })
	}
}

// resume resumes the suspended Jobs. It first stops any running Jobs of an earlier epoch, because their pods are fenced.
func (c *controller) resume(js jobSet) {
	for _, j := range c.current(js) {
		switch {
		case j.complete() || !c.up:
		case !j.suspended && j.epoch < js.epoch.Epoch:
			c.hold(j, true)
			c.kick()
		case j.suspended && len(j.living()) == 0 && c.survives():
			j.epoch = js.epoch.Epoch
			c.hold(j, false)
		case j.suspended:
			c.in(200*time.Millisecond, c.kick)
		}
	}
}

func (c *controller) hold(j *job, suspended bool) {
	j.suspended = suspended
	c.note(c.name, "%s: suspend %t", j.name, suspended)
	for _, s := range j.seats {
		s.retry = 0
	}
	if suspended {
		j.failures, j.made = 0, false
	} else {
		j.started = c.now
	}
	j.kick()
}

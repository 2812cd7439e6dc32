package simulation

import "time"

// clock is virtual time: a queue of future events. Only these events advance the time, so a history depends only on its seed.
type clock struct {
	now   time.Duration // since the beginning
	order uint64
	queue []happening // a binary heap
}

// happening is a scheduled event. Events with the same time run in the order in which they were scheduled.
type happening struct {
	at    time.Duration
	order uint64
	do    func()
}

func (a happening) before(b happening) bool {
	return a.at < b.at || (a.at == b.at && a.order < b.order)
}

// in schedules an event after d.
func (c *clock) in(d time.Duration, do func()) { c.at(c.now+max(0, d), do) }

// at schedules an event at the given time, or now if that time has passed.
func (c *clock) at(t time.Duration, do func()) {
	c.order++
	c.push(happening{max(c.now, t), c.order, do})
}

// step runs the next event. If there is no event before the limit, step advances the time to the limit and returns false.
func (c *clock) step(limit time.Duration) bool {
	if len(c.queue) == 0 || c.queue[0].at > limit {
		c.now = max(c.now, limit)
		return false
	}
	h := c.pop()
	c.now = h.at
	h.do()
	return true
}

func (c *clock) push(h happening) {
	c.queue = append(c.queue, h)
	for i := len(c.queue) - 1; i > 0; {
		parent := (i - 1) / 2
		if !c.queue[i].before(c.queue[parent]) {
			return
		}
		c.queue[i], c.queue[parent] = c.queue[parent], c.queue[i]
		i = parent
	}
}

func (c *clock) pop() happening {
	top, last := c.queue[0], len(c.queue)-1
	c.queue[0], c.queue[last] = c.queue[last], happening{}
	c.queue = c.queue[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if c.queue[child].before(c.queue[least]) {
				least = child
			}
		}
		if least == i {
			return top
		}
		c.queue[i], c.queue[least] = c.queue[least], c.queue[i]
		i = least
	}
}

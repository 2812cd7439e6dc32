package simulation

import (
	"slices"
	"time"
)

// resizeSpares changes the number of spares of each replicatedJob to a number between zero and two.
func (w *world) resizeSpares(f Fault) {
	if js := w.api.current; js == nil || js.deleted || js.finished() || w.shape.spares() == 0 {
		return
	}
	w.api.spec("user", func(js *jobSet) { js.spares = int64(f.Count%3) - 1 })
	w.note("user", "changes the number of spares by %d", w.api.current.spares)
}

// wantsSpares returns the number of pods that the spare Job should have.
func (j *job) wantsSpares() int {
	for _, e := range j.entries(*j.api.current) {
		if e.Name == j.entry.Name {
			return int(e.Spares)
		}
	}
	return 0
}

// usedSpares returns the number of seats that a spare Job must keep, so that no pod with an assigned slot is deleted.
func (j *job) usedSpares() int {
	used := 0
	for i, s := range j.seats {
		for _, p := range j.living() {
			if p.slot == s.slot && p.given != "" {
				used = i + 1
			}
		}
	}
	return used
}

// resizeSpares resizes the spare Jobs to match the JobSet. The pods are read a moment before the Job is written, so the leader may assign a slot to a
// spare in between.
func (c *controller) resizeSpares(js jobSet) {
	for _, j := range c.current(js) {
		want := j.wantsSpares()
		if !j.spares || j.complete() || want == len(j.seats) {
			continue
		}
		used := j.usedSpares()
		c.later(c.random.between(time.Millisecond, 50*time.Millisecond), func() { j.resize(max(want, used)) })
		c.in(500*time.Millisecond, c.kick)
	}
}

// resize sets the number of seats. The pods beyond them are deleted with the next sync.
func (j *job) resize(n int) {
	switch {
	case j.gone || j.deleting || n == len(j.seats):
		return
	case n == 0:
		j.remove("controller", "no spares are wanted")
		return
	}
	j.note("controller", "%s gets %d pods", j.name, n)
	j.seats = j.seats[:min(n, len(j.seats))]
	for len(j.seats) < n {
		j.seats = append(j.seats, &seat{slot: j.entry.stage().Spare(int64(len(j.seats)))})
	}
	j.made = false
	j.kick()
}

// drop deletes the pods whose seats were removed. This does not count as a failure.
func (j *job) drop() {
	for _, p := range j.living() {
		if !slices.ContainsFunc(j.seats, func(s *seat) bool { return s.slot == p.slot }) {
			p.surplus = true
			j.deletePod(p)
		}
	}
}

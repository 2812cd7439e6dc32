package simulation

import "time"

// process is a program that may be paused at any time and may crash between any two steps. Events that were scheduled in a run are
// lost when the run ends. Messages that were sent still arrive.
type process struct {
	*world
	name  string
	up    bool
	run   int
	wakes time.Duration // paused until this time
	fuse  int           // it crashes after this many steps; 0 if not planned
	died  func()        // called after a crash
}

// begin starts a new run.
func (p *process) begin() {
	p.run++
	p.up, p.fuse = true, 0
}

// crash ends the run and loses everything that was not written.
func (p *process) crash() {
	if !p.up {
		return
	}
	p.up, p.fuse = false, 0
	p.run++
	p.note(p.name, "crashes")
	p.died()
}

// later schedules an event for this run only. A paused process handles it when it resumes.
func (p *process) later(d time.Duration, do func()) {
	run := p.run
	p.in(d, func() { p.resume(run, do) })
}

func (p *process) resume(run int, do func()) {
	switch {
	case p.run != run || !p.up:
	case p.now < p.wakes:
		p.at(p.wakes, func() { p.resume(run, do) })
	default:
		do()
	}
}

// survives is called between two steps. It returns false if the process crashes at this point.
func (p *process) survives() bool {
	if p.fuse > 0 {
		if p.fuse--; p.fuse == 0 {
			p.crash()
			return false
		}
	}
	return p.up
}

// pause pauses the process for a while, like a machine that is swapping or a container that is being throttled.
func (p *process) pause(d time.Duration) { p.wakes = max(p.wakes, p.now+d) }

package simulation

import "time"

// process is a program that may be paused at any moment and crash between any two of its steps. What was planned for one
// run of it is lost with that run; what it has sent is on its way.
type process struct {
	*world
	name  string
	up    bool
	run   int
	wakes time.Duration // paused until then
	fuse  int           // it crashes at the end of so many steps; 0: not planned
	died  func()        // what follows a crash
}

// begin starts a new run.
func (p *process) begin() {
	p.run++
	p.up, p.fuse = true, 0
}

// crash ends the run and all that it has not written.
func (p *process) crash() {
	if !p.up {
		return
	}
	p.up, p.fuse = false, 0
	p.run++
	p.note(p.name, "crashes")
	p.died()
}

// later plans something for this run only; a paused process does it when it wakes.
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

// survives is asked between two steps: false if the process crashes here.
func (p *process) survives() bool {
	if p.fuse > 0 {
		if p.fuse--; p.fuse == 0 {
			p.crash()
			return false
		}
	}
	return p.up
}

// pause stops the process for a while, as a machine that swaps or a container that is throttled.
func (p *process) pause(d time.Duration) { p.wakes = max(p.wakes, p.now+d) }

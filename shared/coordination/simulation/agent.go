package simulation

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/member"
)

// agent is the sidecar: the shipped member.State, fed and obeyed as agent/internal/app does it.
type agent struct {
	process
	pod      *pod
	link     *link
	sub      *subscription
	state    *member.State
	tick     time.Duration // when the planned Tick is due; 0: none
	removing bool
	fenced   bool // the store has told it so
}

const (
	callTimeout = 3 * time.Second
	pollEvery   = 15 * time.Second
	removeRetry = 2 * time.Second
)

var errRuntime = errors.New("the runtime does not answer")

func newAgent(p *pod) *agent {
	a := &agent{pod: p}
	a.process = process{world: p.world, name: p.uid, died: a.startAgain}
	a.link = newLink(p.world, &a.process, p.node, p.uid)
	return a
}

// start begins a run with what the volume holds.
func (a *agent) start() {
	if a.up || a.pod.over {
		return
	}
	a.begin()
	p := a.pod
	a.tick, a.removing, a.fenced = 0, false, false
	a.state = member.New(member.Config{
		Slot: p.slot, Pod: p.uid, Grace: p.shape.Grace, RemoveStopped: p.shape.RemoveStopped, Random: p.random.Float64,
		Barrier: p.driver() == Exec, Progress: p.shape.Progress, Epoch: p.toldEpoch(),
	}, p.volume.memory)
	a.sub = subscribe(a.link, p.job.owner, func(o coordination.Observation) { a.take(member.Told{Observation: o}) })
	a.look()
	if p.driver() == CRI {
		a.poll()
	}
}

// startAgain is the kubelet's answer to a crash.
func (a *agent) startAgain() {
	a.sub.close()
	if a.pod.driver() == Exec {
		a.pod.containerDied()
		return
	}
	a.in(a.pod.random.between(100*time.Millisecond, 8*time.Second), a.start)
}

// quit ends the run for good.
func (a *agent) quit() {
	if a.up {
		a.up = false
		a.run++
		a.sub.close()
	}
}

// leave reports what is pending before the agent ends.
func (a *agent) leave() {
	if a.up {
		a.take(member.Leaving{})
		a.look()
	}
}

// poll looks at intervals, in case an event was lost.
func (a *agent) poll() {
	a.later(pollEvery, func() {
		a.look()
		a.poll()
	})
}

// look observes the containers. A look of a blind runtime is as good as another.
func (a *agent) look() {
	if a.pod.born == 0 {
		return
	}
	o := member.Observed{PodBorn: a.pod.born, Workers: make([]member.Worker, 0, len(a.pod.containers))}
	for _, c := range a.pod.containers {
		o.Workers = append(o.Workers, a.pod.observed(c))
	}
	a.take(o)
}

// take hands an event to the core and does what it decides, until it crashes on the way.
func (a *agent) take(e member.Event) {
	if !a.up {
		return
	}
	if change := a.mutant.Event; change != nil {
		e = change(e)
	}
	actions := a.state.Step(beginning.Add(a.now), e) // programs measure time by a clock that does not jump
	if change := a.mutant.Actions; change != nil {
		actions = change(actions)
	}
	for _, action := range actions {
		if _, quiet := action.(member.Log); !quiet && !a.survives() {
			return
		}
		a.perform(action)
	}
	a.plan()
}

// plan sets the timer to the next Tick.
func (a *agent) plan() {
	next, ok := a.state.NextTick()
	if !ok {
		a.tick = 0
		return
	}
	due := max(a.now, next.Sub(beginning))
	if a.tick == due {
		return
	}
	a.tick = due
	a.later(due-a.now, func() {
		if a.tick == due {
			a.tick = 0
			a.take(member.Tick{})
		}
	})
}

func (a *agent) perform(action member.Action) {
	p := a.pod
	switch action := action.(type) {
	case member.Join:
		a.say("join %s %s%s", action.ID, seenText(action.Seen), runsText(action.RunsFor))
		a.call(action.ID, func(s *server) (coordination.Reply, error) { return s.join(p, action.Join) })
	case member.Down:
		a.say("down %s code=%d ordered=%t", action.ID, action.ExitCode, action.Ordered)
		a.call(action.ID, func(s *server) (coordination.Reply, error) { return s.down(p, action.Down) })
	case member.Ask:
		a.say("asks for recreation: %s", action.Kind)
		a.call("", func(s *server) (coordination.Reply, error) { return s.ask(p, action.Member, action.Kind) })
	case member.Stop:
		if action.Haste == member.Hung {
			a.killHung(action)
		} else {
			a.stop(action)
		}
	case member.Begin:
		a.later(p.random.between(time.Millisecond, 5*time.Millisecond), p.makeInstance)
	case member.Lift:
		p.lift(action)
	case member.Release:
		a.say("is released")
		p.in(p.node.nextRelist(), p.succeed)
	case member.Remove:
		a.remove(action.IDs)
	case member.Save:
		a.truth.saved(p, action.Memory)
		p.volume.memory, p.volume.has = action.Memory, true
	case member.WriteRound:
		p.volume.told = rendezvous{action.Epoch, action.Round}
	case member.Look:
		wait := time.Second
		if p.driver() == Exec {
			wait = 0 // it asks nobody
		}
		a.later(wait, a.look)
	case member.Log:
		a.tell(action)
	}
}

// call asks the store. Exactly one answer comes back, be it that there is none in time.
func (a *agent) call(instance string, serve func(*server) (coordination.Reply, error)) {
	request(a.link, serve, func(r coordination.Reply, err error) {
		if err == nil && instance != "" {
			a.say("is answered: %s, round %d", r.Level, r.Round)
		} else if err != nil {
			a.say("is answered: %v", err)
		}
		a.fenced = a.fenced || errors.Is(err, coordination.ErrFenced)
		a.take(member.Answered{Reply: r, Err: err})
	})
}

func (a *agent) say(format string, args ...any) {
	if a.log.on {
		a.note(a.name, format, args...)
	}
}

// tell is one line of the agent's own log.
func (a *agent) tell(l member.Log) {
	if !a.log.on {
		return
	}
	text := l.Message
	for i := 0; i+1 < len(l.Fields); i += 2 {
		text += fmt.Sprintf(" %v=%v", l.Fields[i], l.Fields[i+1])
	}
	a.note(a.name, "\"%s\"", text)
}

func runsText(ms int64) string {
	if ms == 0 {
		return ""
	}
	return fmt.Sprintf(", runs for %d ms", ms)
}

func seenText(s coordination.Seen) string {
	if s.Round == coordination.NoRound {
		return "unseen"
	}
	return fmt.Sprintf("seen %d.%d holds=%t running=%t instances=%d", s.Epoch, s.Round, s.Holds, s.Running, s.Instances)
}

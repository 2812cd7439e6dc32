package simulation

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// agent is a pod's agent: the shipped worker.State, driven as in agent/internal/loop.
type agent struct {
	process
	pod      *pod
	link     *link
	sub      *subscription
	state    *worker.State
	tick     time.Duration // when the planned Tick is due; 0 if none is planned
	removing bool
	relaying relaying
}

const (
	callTimeout = 3 * time.Second
	pollEvery   = 15 * time.Second
	removeRetry = 2 * time.Second
)

var errRuntime = errors.New("the runtime failed to stop the container")

func newAgent(p *pod) *agent {
	a := &agent{pod: p}
	a.process = process{world: p.world, name: p.uid, died: a.startAgain}
	a.link = newLink(p.world, &a.process, p.node, p.uid)
	return a
}

// start begins a run with the state from the volume.
func (a *agent) start() {
	if a.up || a.pod.over {
		return
	}
	a.begin()
	p := a.pod
	a.tick, a.removing = 0, false
	a.state = worker.New(worker.Config{
		Slot: p.asSlot(), Waits: p.waits, Generation: p.epoch, Node: p.node.name, Grace: p.shape.Grace, RemoveStopped: p.shape.RemoveStopped,
		Random: p.random.Float64, Barrier: p.driver() == Exec, Progress: p.shape.Progress,
	}, p.volume.memory)
	a.sub = subscribe(a.link, p.job.owner, p.asSlot(), func(e worker.Event) {
		a.forward(e)
		a.take(e)
	})
	if a.shape.Relays > 0 {
		a.seek(time.Second)
	}
	a.look()
	if p.driver() == CRI {
		a.poll()
	}
}

// isFenced reports whether the agent has permanently stopped reporting.
func (a *agent) isFenced() bool { return a.state != nil && a.state.Fenced() }

// startAgain simulates what the kubelet does after the agent crashes.
func (a *agent) startAgain() {
	a.sub.close()
	a.drop()
	if a.pod.driver() == Exec {
		a.pod.containerDied()
		return
	}
	a.in(a.pod.random.between(100*time.Millisecond, 8*time.Second), a.start)
}

// quit ends the agent's last run.
func (a *agent) quit() {
	if a.up {
		a.up = false
		a.run++
		a.sub.close()
		a.drop()
	}
}

// leave sends pending reports before the agent ends.
func (a *agent) leave() {
	if a.up {
		a.take(worker.Leaving{})
		a.look()
	}
}

// poll checks the containers at intervals, in case an event was lost.
func (a *agent) poll() {
	a.later(pollEvery, func() {
		a.look()
		a.poll()
	})
}

// look checks the containers. It works even if the runtime does not send events.
func (a *agent) look() {
	if a.pod.born == 0 {
		return
	}
	o := worker.Observed{Processes: make([]worker.Process, 0, len(a.pod.containers))}
	for _, c := range a.pod.containers {
		o.Processes = append(o.Processes, a.pod.observed(c))
	}
	a.take(o)
}

// take passes an event to the core and executes its actions, unless the agent crashes in between.
func (a *agent) take(e worker.Event) {
	if !a.up {
		return
	}
	if change := a.mutant.Event; change != nil {
		e = change(e)
	}
	actions := a.state.Step(beginning.Add(a.now), e) // programs measure time with a monotonic clock
	if change := a.mutant.Actions; change != nil {
		actions = change(actions)
	}
	for _, action := range actions {
		if _, quiet := action.(worker.Log); !quiet && !a.survives() {
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
			a.take(worker.Tick{})
		}
	})
}

func (a *agent) perform(action worker.Action) {
	p := a.pod
	switch action := action.(type) {
	case worker.Call:
		a.call(action.Call)
	case worker.Read:
		a.sub.readNow()
	case worker.Stop:
		if action.Haste == worker.Hung {
			a.killHung(action)
		} else {
			a.stop(action)
		}
	case worker.Prepare:
		a.later(p.random.between(time.Millisecond, 5*time.Millisecond), p.makeInstance)
	case worker.Start:
		p.lift(action)
	case worker.Release:
		a.say("is released")
		p.in(p.node.nextRelist(), p.succeed)
	case worker.Remove:
		a.remove(action.IDs)
	case worker.Save:
		a.truth.saved(p, action.Memory)
		p.volume.memory, p.volume.has = action.Memory, true
	case worker.TellRound:
		p.volume.told = rendezvous{action.Generation, action.Round}
	case worker.Observe:
		wait := time.Second
		if p.driver() == Exec {
			wait = 0 // a supervisor does not need a request to observe
		}
		a.later(wait, a.look)
	case worker.Log:
		a.tell(action)
	}
}

// reply is the store's reply to a call, and the level right after it.
type reply struct {
	text string
	now  rounds.Level
}

// call calls the store. The agent gets exactly one answer, which may be a timeout.
func (a *agent) call(c rounds.Call) {
	a.say("%s", callText(c))
	if i := a.truth.instances[fmt.Sprint(c.Arguments[min(6, len(c.Arguments)-1)])]; i != nil && c.Function == rounds.FunctionJoin {
		i.asked, i.slot = true, fmt.Sprint(c.Arguments[4])
	}
	answer := func(r reply, err error) {
		if err != nil {
			a.say("is answered: %v", err)
		} else {
			a.say("is answered: %s", answerText{c, r})
		}
		a.take(worker.Answered{Reply: r.text, Now: r.now, Err: err})
	}
	direct := func() { request(a.link, func(s *server) (reply, error) { return s.call(a.pod, c) }, answer) }
	if !a.join(c, answer, direct) {
		direct()
	}
}

func (a *agent) say(format string, args ...any) {
	if a.log.on {
		a.note(a.name, format, args...)
	}
}

// tell adds a line from the agent's log to the transcript.
func (a *agent) tell(l worker.Log) {
	if !a.log.on {
		return
	}
	text := l.Message
	for i := 0; i+1 < len(l.Fields); i += 2 {
		text += fmt.Sprintf(" %v=%v", l.Fields[i], l.Fields[i+1])
	}
	a.note(a.name, "\"%s\"", text)
}

// callText describes a call. The text is built only if a transcript is recorded.
type callText rounds.Call

func (c callText) String() string {
	a := c.Arguments
	switch c.Function {
	case rounds.FunctionJoin:
		return fmt.Sprintf("join round %v with %v, %s", a[2], a[6], pasts[fmt.Sprint(a[9])[:1]])
	case rounds.FunctionDown:
		text := fmt.Sprintf("%v of round %v has died", a[4], a[5])
		if a[7] == 1 {
			text += ", and its pod leaves"
		}
		return text
	case rounds.FunctionLost:
		return fmt.Sprintf("the store has lost round %v", a[4])
	case rounds.FunctionFinish:
		return fmt.Sprintf("%v has finished", a[4])
	}
	return fmt.Sprintf("requests a recreation: %v", a[4])
}

// pasts describes what a join reports about the pod.
var pasts = map[string]string{
	"n": "nothing of this pod has run", "h": "this pod has run before", "r": "it runs in this round", "d": "another instance of this pod has died in this round",
}

// answers describes the store's answers to a join.
var answers = map[rounds.AnswerKind]string{
	rounds.AnswerJoined: "joined", rounds.AnswerReplaced: "joined, replacing an instance that died", rounds.AnswerHeld: "another pod holds the slot",
	rounds.AnswerFenced: "the pod is fenced", rounds.AnswerAttempt: "a later instance has joined", rounds.AnswerOver: "the round is over",
}

// answerText describes the answer to a call.
type answerText struct {
	call  rounds.Call
	reply reply
}

func (t answerText) String() string {
	if answer, err := rounds.ParseAnswer(t.reply.text); err == nil && t.call.Function == rounds.FunctionJoin {
		return fmt.Sprintf("%s; %s", answers[answer.Kind], levelText(t.reply.now))
	}
	return levelText(t.reply.now)
}

// levelText describes a level.
func levelText(l rounds.Level) string {
	text := fmt.Sprintf("%s, generation %d, round %d", group.PhaseOf(l), l.Generation, l.Round)
	if l.Phase == rounds.Active {
		text += fmt.Sprintf(", %d of %d started", l.Started, max(1, l.Entered))
	}
	return text
}

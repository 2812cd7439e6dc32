package simulation

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// pod is a pod: its object in the API server, and what is running on its node. The two differ when the node is disconnected.
type pod struct {
	*world
	uid     string
	slot    string // slot for which it was created, or the name of a spare
	given   string // annotation: the slot assigned to it
	waits   bool   // it was created to wait for a slot
	name    string // set if a leader created it; empty for the Job controller's pods
	job     *job
	epoch   int64 // epoch in the Job's template when it was created
	node    *node
	created time.Duration
	serial  int // orders pods by creation
	random  random

	// In the API.
	deleting bool
	asked    time.Duration // when its deletion was requested
	gone     bool
	phase    podPhase
	told     bool // the API server knows that the pod has ended
	killed   bool // its worker ended because of the deletion

	// On the node.
	over        bool // nothing in it is running on the node
	terminating bool
	born        int64       // creation of the sandbox, in Unix microseconds by the node's clock
	containers  []*instance // the runtime's records, oldest first
	births      int
	loop        crashLoop
	waiting     bool // in CrashLoopBackOff
	volume      volume
	agent       *agent

	polite    bool          // its worker exits with code 0 on a signal
	slow      time.Duration // how long its worker takes to end
	immune    time.Duration // its worker survives everything until this time
	refuses   int           // how many more stop orders fail in the runtime
	blind     time.Duration // the runtime sends no events until this time
	dieYoung  int           // how many of the next workers die as soon as they have started
	duplicate bool          // a second pod of its slot that the Job controller does not know about
	forgot    bool          // its agent has lost its file at least once
	stuck     bool          // its worker cannot be restarted
	surplus   bool          // the Job controller deletes it because its slot has another pod
}

// volume is a volume with the lifetime of the pod.
type volume struct {
	memory worker.Memory
	has    bool
	told   rendezvous
}

func newVolume() volume { return volume{memory: worker.Fresh()} }

type podPhase string

const (
	podPending   podPhase = "Pending"
	podRunning   podPhase = "Running"
	podSucceeded podPhase = "Succeeded"
	podFailed    podPhase = "Failed"
)

// ended reports whether the pod has ended and will never run again.
func (p *pod) ended() bool { return p.phase == podSucceeded || p.phase == podFailed }

// createPod creates a pod for a slot, on a working node.
func (w *world) createPod(j *job, slot string) *pod {
	w.serial++
	p := &pod{
		world: w, uid: fmt.Sprintf("%s/pod%d", slot, w.serial), slot: slot, job: j, epoch: int64(j.epoch), node: w.place(slot), created: w.now,
		serial: w.serial, phase: podPending,
	}
	p.random = newRandom(w.seed, p.uid)
	p.volume = newVolume()
	p.agent = newAgent(p)
	w.pods = append(w.pods, p)
	for _, o := range w.orchestrators {
		o.sawPod(slot)
	}
	w.note("job", "creates %s on %s", p.uid, p.node.name)
	w.in(p.random.between(100*time.Millisecond, 800*time.Millisecond), p.boot)
	return p
}

// place returns a slot's node, or another node if that one is down.
func (w *world) place(slot string) *node {
	first := 0
	for i, name := range w.slots {
		if name == slot {
			first = i
		}
	}
	for n := range w.shape.spares() {
		if strings.HasSuffix(slot, fmt.Sprint("-spares-", n)) {
			first = len(w.slots) + n
		}
	}
	for i := range w.nodes {
		if n := w.nodes[(first+i)%len(w.nodes)]; !n.cut && !n.lost {
			return n
		}
	}
	return w.nodes[first]
}

// boot starts the sandbox, the agent, and then the worker.
func (p *pod) boot() {
	if p.over || p.terminating || p.node.lost || p.culprits[p.slot] == NeverStarts {
		return
	}
	if p.node.cut || p.gone || p.deleting {
		p.in(time.Second, p.boot)
		return
	}
	p.born = p.node.wall().UnixMicro()
	p.phase = podRunning
	p.agent.start()
	if p.driver() == CRI {
		p.in(p.random.between(20*time.Millisecond, 200*time.Millisecond), p.startWorker)
	}
}

// newest returns the newest container of the worker, or nil.
func (p *pod) newest() *instance {
	if n := len(p.containers); n > 0 {
		return p.containers[n-1]
	}
	return nil
}

// living returns the running worker, or nil.
func (p *pod) living() *instance {
	if c := p.newest(); c != nil && c.running {
		return c
	}
	return nil
}

// startWorker starts a new container. The runtime also keeps the record of one exited container.
func (p *pod) startWorker() {
	if p.over || p.terminating || p.stuck || p.living() != nil || p.ended() {
		return
	}
	p.waiting = false
	p.births++
	c := &instance{
		id: fmt.Sprintf("%s/c%d", p.uid, p.births), born: p.node.wall().UnixMicro(),
		pod: p, slot: p.slot, running: true, lifted: true, started: p.now, rendezvous: p.volume.told,
	}
	if dead := len(p.containers) - 1; dead > 0 {
		p.containers = p.containers[dead:]
	}
	p.containers = append(p.containers, c)
	p.truth.born(c)
	p.note(p.uid, "worker %s starts", c.id)
	p.event()
	p.mayDieYoung(c)
}

// event delivers a runtime event to the agent. If the runtime is blind, the agent notices the change only at its next poll.
func (p *pod) event() {
	delay := p.random.between(time.Millisecond, 10*time.Millisecond)
	if p.now < p.blind {
		delay = p.random.between(0, 10*time.Second)
	}
	p.agent.later(delay, p.agent.look)
}

// exit ends a container, unless it is immune.
func (p *pod) exit(c *instance, code int64) {
	if !c.running || p.now < p.immune {
		return
	}
	c.running, c.code, c.exited, c.wallOut = false, code, p.now, p.node.wall().UnixMilli()
	p.note(p.uid, "worker %s exits %d", c.id, code)
	if p.over {
		return
	}
	p.event()
	if p.driver() == CRI {
		p.in(p.node.nextRelist(), p.sync)
	}
}

// forgets makes the pod's agent crash and lose its file.
func (p *pod) forgets() {
	p.forgot = true
	p.volume = newVolume()
	p.agent.crash()
}

func (p *pod) asSlot() rounds.Slot { return rounds.Slot{Name: p.slot, Pod: p.uid} }

// workedSlot returns the slot in which the pod's worker is running or, if there is none, the pod's own slot.
func (p *pod) workedSlot() rounds.Slot {
	slot := p.asSlot()
	if c := p.living(); c != nil {
		slot.Name = c.slot
	}
	return slot
}

func (p *pod) driver() Driver { return p.job.entry.Driver }

// lost reports whether the pod is not running a worker or will soon stop doing so.
func (p *pod) lost() bool { return p.gone || p.over || p.deleting || p.ended() }

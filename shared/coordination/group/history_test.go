package group

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/interpreter"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// history is one random life of a group: a leader, agents that follow the rules of the protocol, and faults, over the shipped
// functions. Its checks know what really happened.
type history struct {
	*rand.Rand
	server  *interpreter.Server
	now     time.Time
	keys    rounds.Keys
	cri     bool // instances run from their start; else they wait for their unit to be started
	lossy   bool // the store may lose data
	stages  []coordination.Stage
	pods    []*pod
	pending []func()
	backups []interpreter.Dump
	trace   []string
	problem string

	// the leader
	leads         bool
	incarnations  int
	charged       int64
	entered       int64 // steps whose Jobs exist
	suspended     bool
	generation    int64
	rejoins       int // resizes and suspends: everybody joins again, which may cost a round
	release       []rounds.Slot
	released      map[string]bool
	deaths, made  int
	started       int             // of the newest level
	startedIn     string          // incarnation and round of it
	reportedDead  map[string]bool // IDs
	firstToRun    map[string]string
	diedInRound   map[string]bool
	lastInRound   map[string]*process
	faultsPending int
}

func newHistory(seed uint64, lossy bool, library string) *history {
	h := &history{
		Rand: rand.New(rand.NewPCG(seed, 7)), now: time.UnixMilli(1_795_426_139_749), keys: rounds.KeysOf("group"), lossy: lossy, leads: true, generation: 1,
		released: map[string]bool{}, reportedDead: map[string]bool{}, firstToRun: map[string]string{}, diedInRound: map[string]bool{},
		lastInRound: map[string]*process{},
	}
	var err error
	h.server, err = interpreter.New(interpreter.Options{Library: library, Now: func() time.Time { return h.now }, Publish: h.hear})
	if err != nil {
		panic(err)
	}
	h.cri = h.IntN(3) == 0
	for step := range int64(1 + h.IntN(2)) {
		stage := coordination.Stage{Prefix: fmt.Sprint("w", step), Jobs: int64(1 + h.IntN(3)), Pods: 1, Step: step}
		h.stages = append(h.stages, stage)
		for job := range stage.Jobs {
			h.newPod(stage.Slot(job, 0), int(step))
		}
	}
	h.write()
	h.faultsPending = h.IntN(8)
	return h
}

func (h *history) newPod(slot string, unit int) {
	h.made++
	p := &pod{history: h, Slot: rounds.Slot{Name: slot, Pod: fmt.Sprint("pod", h.made)}, unit: unit, generation: h.generation, file: worker.Fresh()}
	h.pods = append(h.pods, p)
	p.boot()
}

func (h *history) hear(channel, message string) {
	for _, p := range h.pods {
		if channel == h.keys.Channel() && p.connected && !p.gone() {
			p.inbox = append(p.inbox, message)
		}
	}
}

func (h *history) note(format string, args ...any) {
	h.trace = append(h.trace, fmt.Sprintf(format, args...))
}

func (h *history) fail(format string, args ...any) {
	if h.problem == "" {
		h.problem = fmt.Sprintf(format, args...)
	}
}

// play returns what went wrong; empty: nothing.
func (h *history) play() string {
	for range 6000 {
		if h.faultsPending > 0 && h.IntN(60) == 0 {
			h.faultsPending--
			h.fault()
		}
		switch {
		case h.faultsPending == 0:
			h.leads, h.suspended = true, false
		case h.IntN(200) == 0:
			h.leads = !h.leads
		}
		if h.leads && h.IntN(30) == 0 {
			h.lead()
		}
		h.step()
		if h.problem != "" {
			return h.problem
		}
		if h.faultsPending == 0 && h.settled() {
			if l, _ := h.read(); !h.lossy && l.Round > int64(h.deaths+h.rejoins) {
				h.fail("%d rounds for %d deaths, %d resizes and suspends", l.Round, h.deaths, h.rejoins)
			}
			h.finish()
			return h.problem
		}
	}
	for _, p := range h.pods {
		h.note("%s: lost %t, zombie %t, fenced %t, held %t, settled %t, connected %t, reading %t, call %v, tick in %s, running %+v, file %+v", p, p.gone(), p.zombie,
			p.state.Fenced(), p.held, p.state.Settled(), p.connected, p.reading, p.call, p.tickAt.Sub(h.now), p.living(), p.file)
	}
	h.fail("not settled")
	return h.problem
}

// step is one thing that happens: to a pod, or something that was begun before. Time passes.
func (h *history) step() {
	h.now = h.now.Add(time.Duration(h.IntN(20)) * time.Millisecond)
	if n := len(h.pending); n > 0 && h.IntN(3) == 0 {
		i := h.IntN(n)
		f := h.pending[i]
		h.pending = slices.Delete(h.pending, i, i+1)
		f()
		return
	}
	h.pods[h.IntN(len(h.pods))].step()
	if h.IntN(100) == 0 { // nothing may hurry: timers
		h.now = h.now.Add(time.Duration(h.IntN(10)) * time.Second)
	}
}

// fcall calls a function and reads the level after it, as agents do.
func (h *history) fcall(c rounds.Call) (string, rounds.Level, error) {
	reply, err := h.call(c)
	if err != nil {
		return "", rounds.Level{}, rounds.Error(err.Error())
	}
	now, ok := h.read()
	if !ok {
		return "", rounds.Level{}, coordination.ErrNoGroup
	}
	return reply, now, nil
}

func (h *history) call(c rounds.Call) (string, error) {
	args := make([]string, len(c.Arguments))
	for i, a := range c.Arguments {
		args[i] = fmt.Sprint(a)
	}
	reply, err := h.server.FCall(c.Function, []string{h.keys.State()}, args)
	text, _ := reply.(string)
	h.note("%s %v -> %s %v; state %v", c.Function, args, text, err, h.server.Do("GETRANGE", h.keys.State(), "0", "511"))
	if h.backups = append(h.backups, h.server.Dump()); len(h.backups) > 12 {
		h.backups = h.backups[1:]
	}
	h.check(c, text)
	return text, err
}

func (h *history) read() (rounds.Level, bool) {
	l, err := rounds.ParseLevel(h.server.Do("GETRANGE", h.keys.State(), "0", "511").(string))
	return l, err == nil
}

// check what a call has started: nobody whose death was reported is in place, and without a barrier a round in which one has
// died does not run.
func (h *history) check(c rounds.Call, reply string) {
	switch {
	case c.Function == rounds.FunctionDown && reply != "-" && reply != "":
		h.reportedDead[c.Arguments[4].(string)] = true
	case c.Function == rounds.FunctionJoin && reply == "J" && c.Arguments[8] == 1 && !strings.HasPrefix(c.Arguments[9].(string), "r"):
		round := fmt.Sprint(c.Arguments[0], ".", c.Arguments[2])
		place := fmt.Sprint(round, "/", c.Arguments[4])
		if first := h.firstToRun[place]; first != "" && first != c.Arguments[6] {
			h.diedInRound[round] = true
		}
		h.firstToRun[place] = c.Arguments[6].(string)
	}
	l, ok := h.read()
	round := fmt.Sprint(l.Incarnation, ".", l.Round)
	if !ok || l.Started <= h.started && round == h.startedIn {
		return
	}
	h.started, h.startedIn = l.Started, round
	if h.lossy {
		return
	}
	for u := range l.Started {
		for slot, instance := range h.server.Hash(h.keys.Joined(l, u)) {
			if id, _, _ := strings.Cut(instance, " "); h.reportedDead[id] {
				h.fail("round %d starts with %s in slot %s, whose death was reported", l.Round, id, slot)
			}
		}
	}
	if h.cri && l.Started == len(h.stages) && h.diedInRound[round] {
		h.fail("round %d runs without a barrier, and an instance has died in it", l.Round)
	}
}

// observed returns nil if the store holds no group.
func (h *history) observed() *rounds.Stored {
	state, err := rounds.ParseState(h.server.Do("GETRANGE", h.keys.State(), "0", "511").(string))
	if err != nil {
		return nil
	}
	config, err := rounds.ParseConfig(h.server.Hash(h.keys.Config()))
	if err != nil {
		h.fail("%v", err)
	}
	o := &rounds.Stored{State: state, Config: config}
	for u := range config.Units {
		o.Finished = append(o.Finished, h.server.Do("HLEN", h.keys.Finished(state.Level, u)).(int64))
	}
	return o
}

func (h *history) want() Wanted {
	return Wanted{
		Token: leaderToken, Generation: h.generation, Limit: 1000, MaxPause: 32 * time.Second, Stages: h.stages, Suspended: h.suspended, Barrier: !h.cri,
		Round: h.charged, Entered: h.entered, Fenced: slices.Sorted(maps.Keys(h.released)),
	}
}

var leaderToken = coordination.Token{LeaseCreated: 1, Transitions: 1}

// write what the rules say, and report whether there was anything.
func (h *history) write() bool {
	w, found, err := Next(h.observed(), h.want(), fmt.Sprint("i", h.incarnations+1))
	if err != nil {
		h.fail("%v", err)
	}
	if !found {
		return false
	}
	h.incarnations++
	h.entered = int64(len(h.stages)) // all Jobs are created once the group is open
	h.note("leader: %s", w.Reason)
	if reply, err := h.call(rounds.Set(w.Seq, w.State, w.Config)); err != nil || reply == "-" {
		h.fail("%s: %s, %v", w.Reason, reply, err)
	}
	return true
}

// lead is one reconcile of the leader.
func (h *history) lead() {
	if h.write() {
		return
	}
	l, _ := h.read()
	if l.Generation != h.generation {
		h.fail("the group is in generation %d, not %d", l.Generation, h.generation)
	}
	if l.Phase == rounds.Recreate {
		h.regenerate()
		return
	}
	h.charged = max(h.charged, l.Round)
	lost := forgotten(h.observed(), h.want())
	for _, a := range h.pods {
		if (a.lost || a.zombie) && !slices.Contains(h.release, a.Slot) && (h.blocks(a) || slices.Contains(lost, a.Pod)) {
			h.release = append(h.release, a.Slot)
		}
	}
	if len(h.release) == 0 {
		return
	}
	slot := h.release[0]
	h.release = h.release[1:]
	h.released[slot.Pod] = true
	i := slices.IndexFunc(h.pods, func(a *pod) bool { return a.Pod == slot.Pod })
	if _, err := h.call(rounds.Release(leaderToken, l.Incarnation, h.pods[i].unit, slot, "w-0")); err != nil {
		h.fail("releasing %v: %v", slot, err)
	}
}

// blocks reports whether a pod that is gone keeps another one out of its slot.
func (h *history) blocks(a *pod) bool {
	return slices.ContainsFunc(h.pods, func(o *pod) bool { return o.held && !o.gone() && o.Name == a.Name }) &&
		h.server.Hash(h.keys.Holders(h.generation))[a.Name] == a.Pod
}

// starting checks that no peer runs in another round, and that none of this round may hang on an earlier instance of the slot.
func (h *history) starting(p *pod, c *process) {
	if p.zombie {
		return // it cannot be stopped; its rendezvous differs
	}
	at := fmt.Sprint(c.round, "/", p.Name)
	before := h.lastInRound[at]
	for _, o := range h.pods {
		peer := o.living()
		if h.cri || o == p || o.gone() || o.zombie || peer == nil || !peer.ran {
			continue
		}
		switch {
		case peer.round != c.round && o.generation == p.generation && h.knows(o):
			h.fail("round %d starts in %s while round %d runs in %s", c.round, p, peer.round, o)
		case before != nil && before != c && peer.began.Before(before.died):
			h.fail("%s and %s run in round %d of slot %s, and %s has run beside both", before.ID, c.ID, c.round, p.Name, o)
		}
	}
	h.lastInRound[at], c.began = c, h.now
}

// knows reports whether the store knows that the pod may run. One that has gone back behind a resize, or behind the start of a unit,
// does not until the leader has repeated the resize, or a member of the unit has joined again: a known gap.
func (h *history) knows(p *pod) bool {
	stored := h.observed()
	return stored != nil && (!h.lossy || p.unit < stored.State.Entered) &&
		slices.ContainsFunc(stored.Config.Stages, func(b rounds.Bounds) bool { return b.Has(p.Name) })
}

func (h *history) fault() {
	a := h.pods[h.IntN(len(h.pods))]
	if a.gone() || a.zombie {
		return
	}
	switch k := h.IntN(13); {
	case k < 3:
		h.kill(a)
	case k == 3: // the agent; with a barrier also the worker, which is its child
		h.note("FAULT: the agent of %s restarts", a)
		if !h.cri {
			h.kill(a)
			a.processes = nil
		}
		a.boot()
	case k == 4:
		a.disconnect()
	case k == 5:
		h.note("FAULT: %s is lost", a)
		h.lose(a)
		h.replace(a)
	case k == 6:
		h.note("FAULT: the node of %s is cut off", a)
		a.zombie = true
		h.replace(a)
	case k == 7 && h.lossy && len(h.backups) > 0:
		h.restore(h.backups[h.IntN(len(h.backups))])
	case k == 8 && h.lossy && h.IntN(2) == 0:
		h.restore(interpreter.Dump{})
	case k == 9:
		h.suspended = !h.suspended
		h.rejoins++ // workers that had not heard of the start when the group closed look like new ones among peers that run
		h.note("FAULT: suspended %t", h.suspended)
	case k == 10:
		h.resize()
	case k == 11 && h.IntN(2) == 0:
		h.regenerate()
	case k == 12: // the pod is deleted: its agent says so
		h.note("FAULT: %s is deleted", a)
		h.deaths++
		a.take(worker.Leaving{})
		a.end(143)
		for range 20 {
			a.step()
		}
		h.lose(a)
		h.replace(a)
	}
}

func (h *history) kill(p *pod) {
	h.deaths++
	if c := p.living(); c != nil {
		h.note("FAULT: %s dies", c.ID)
		p.end(1)
	}
}

// lose a pod and all that runs in it.
func (h *history) lose(p *pod) {
	p.lost = true
	if c := p.living(); c != nil {
		c.Running, c.died = false, h.now
	}
}

func (h *history) replace(a *pod) {
	h.deaths++
	h.release = append(h.release, a.Slot)
	h.newPod(a.Name, a.unit)
}

func (h *history) restore(d interpreter.Dump) {
	h.server.Restore(d)
	h.note("FAULT: the store goes back to %v", h.server.Do("GETRANGE", h.keys.State(), "0", "511"))
	h.backups = nil
	for _, p := range h.pods {
		if p.connected && !p.gone() {
			p.disconnect()
		}
	}
}

// finish has every worker exit 0, and again if a late message of a pod that was cut off has opened one more round. The leader ends
// the group.
func (h *history) finish() {
	for n := range 3000 {
		for _, p := range h.pods {
			if c := p.living(); n%100 == 0 && c != nil && c.ran && !p.gone() && !p.zombie && !p.state.Fenced() {
				p.end(0)
			}
		}
		h.step()
		if h.IntN(10) == 0 {
			h.lead()
		}
		if l, _ := h.read(); h.problem != "" || l.Phase == rounds.Done {
			return
		}
	}
	l, _ := h.read()
	h.fail("every worker has finished, and the group is %s", l)
}

// resize adds a slot to a stage, or takes its last one away.
func (h *history) resize() {
	step := h.IntN(len(h.stages))
	s := &h.stages[step]
	h.rejoins++
	if s.Jobs > 1 && h.IntN(2) == 0 {
		s.Jobs--
		h.note("FAULT: %s is taken away", s.Slot(s.Jobs, 0))
		for _, p := range h.pods {
			if p.Name == s.Slot(s.Jobs, 0) {
				h.lose(p)
			}
		}
		return
	}
	s.Jobs++
	h.note("FAULT: %s is added", s.Slot(s.Jobs-1, 0))
	h.newPod(s.Slot(s.Jobs-1, 0), step)
}

// regenerate is what the owner does when it recreates its Jobs: every pod is deleted and replaced.
func (h *history) regenerate() {
	h.generation++
	h.note("FAULT: generation %d", h.generation)
	h.charged, h.entered, h.release = 0, 0, nil
	clear(h.released)
	clear(h.lastInRound)
	for _, p := range h.pods {
		if !p.zombie {
			h.lose(p)
		}
	}
	for step, s := range h.stages {
		for job := range s.Jobs {
			h.newPod(s.Slot(job, 0), step)
		}
	}
}

// settled reports whether every slot runs in the round of a group in which all units have started.
func (h *history) settled() bool {
	l, ok := h.read()
	if !ok || l.Phase != rounds.Active || l.Started != len(h.stages) {
		return false
	}
	if _, found, _ := Next(h.observed(), h.want(), "unused"); found || len(forgotten(h.observed(), h.want())) > 0 {
		return false
	}
	running := map[string]bool{}
	for _, p := range h.pods {
		if p.gone() || p.zombie || p.state.Fenced() {
			continue
		}
		c := p.living()
		if c == nil || c.round != l.Round || !c.ran || p.held || len(p.inbox) > 0 || !p.state.Settled() {
			return false
		}
		running[p.Name] = true
	}
	slots := int64(0)
	for _, s := range h.stages {
		slots += s.Slots()
	}
	return int64(len(running)) == slots
}

var histories = flag.Uint64("histories", 500, "how many random histories are played without losses of the store, and as many with")

// TestRandomHistories plays groups through random faults, without and with losses of the store.
func TestRandomHistories(t *testing.T) {
	for _, lossy := range []bool{false, true} {
		for seed := range *histories {
			h := newHistory(seed, lossy, rounds.Library)
			if problem := h.play(); problem != "" {
				t.Fatalf("seed %d, lossy %t, cri %t: %s\n%s", seed, lossy, h.cri, problem, strings.Join(h.trace[max(0, len(h.trace)-45):], "\n"))
			}
		}
	}
}

// TestMutantsAreCaught breaks the functions on purpose.
func TestMutantsAreCaught(t *testing.T) {
	for name, change := range map[string][2]string{
		"a death that peers may hang on is forgotten":     {"  mark(s, u, DIED)\nend", "end"},
		"a pod without a past may join peers that ran on": {"if died or (ran and new) then", "if died then"},
		"any pod takes a slot":                            {"elseif holder and holder ~= a[i + 1] then", "elseif false then"},
		"a death at the barrier leaves the join":          {"  redis.call('HDEL', tableOf(s, 'j:', u), slot)\n", ""},
		"steps start one by one in a restart":             {"if edge > s.started and edge >= s.entered then", "if edge > s.started then"},
		"a fenced pod may join":                           {"if g[3 + at] or", "if"},
		"a lost round is not brought back":                {"  begin(s, tonumber(a[5]))\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			library := strings.Replace(rounds.Library, change[0], change[1], 1)
			if library == rounds.Library {
				t.Fatal("the mutant changes nothing")
			}
			for seed := range uint64(10000) {
				if newHistory(seed, seed%2 == 1, library).play() != "" {
					return
				}
			}
			t.Error("10,000 histories have not caught it")
		})
	}
}

// forgotten are the pods that the leader has released and the store has forgotten. They may hold their slots again, so that
// they have to be released once more.
func forgotten(stored *rounds.Stored, want Wanted) []string {
	return slices.DeleteFunc(slices.Clone(want.Fenced), func(pod string) bool { return slices.Contains(stored.Config.Fenced, pod) })
}

package simulation

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/simulation/memory"
)

// beginning is the wall-clock time at the start of every history.
var beginning = time.Unix(1_700_000_000, 0)

// otherUID is the UID of a bystander: another JobSet, which no fault affects.
const otherUID = "other"

// world is the state of a history in progress.
type world struct {
	clock
	seed   uint64
	shape  Shape
	mutant Mutant
	random random
	log    *transcript

	slots         []string
	nodes         []*node
	api           *api
	store         *store
	controller    *controller
	orchestrators []*orchestrator
	jobs          []*job
	pods          []*pod
	serial        int

	culprits culprits // permanent faults, by slot
	repairs  []string // events for the repairs of the current round
	verdict  []string // events that explain why the JobSet fails: the repairs of its last round and its end

	truth  *truth
	breach *Breach
	calm   bool // the faults have ended

	quiet     activity
	quietFrom time.Duration
}

// Breach is a broken invariant.
type Breach struct {
	Invariant string // S1 to S17, L1 to L9
	Text      string
	At        time.Duration
}

func (b *Breach) String() string {
	return fmt.Sprintf("%s at %s: %s", b.Invariant, stamp(b.At), b.Text)
}

func newWorld(seed uint64, shape Shape, mutant Mutant, log *transcript) *world {
	w := &world{seed: seed, shape: shape, mutant: mutant, random: newRandom(seed, "world"), log: log, culprits: culprits{}}
	w.truth = newTruth(w)
	w.buildSlots()
	w.store = &store{world: w}
	w.store.first = newServer(w.store, "store")
	w.store.first.addBystander()
	w.api = &api{world: w, lease: lease{created: 1}}
	w.controller = newController(w)
	for _, name := range []string{"orchestrator-a", "orchestrator-b"} {
		w.orchestrators = append(w.orchestrators, newOrchestrator(w, name))
	}
	w.api.create()
	for i, o := range w.orchestrators {
		w.in(time.Duration(i)*200*time.Millisecond, o.start)
	}
	return w
}

// buildSlots creates a node for each slot and each spare, and two more. In a quarter of the histories, their clocks differ by
// minutes.
func (w *world) buildSlots() {
	w.slots = w.slotsOf(jobSet{})
	clocks := newRandom(w.seed, "clocks")
	apart := clocks.chance(25)
	for i := range len(w.slots) + w.shape.spares() + 2 {
		w.nodes = append(w.nodes, &node{
			world: w, name: fmt.Sprint("node", i), phase: w.random.between(0, relist-1),
			skew: w.random.between(-5*time.Millisecond, 5*time.Millisecond),
		})
		if apart {
			w.nodes[i].skew = clocks.between(-10*time.Minute, 10*time.Minute)
		}
	}
}

// spares returns the number of spares in a shape.
func (s Shape) spares() int {
	n := 0
	for _, e := range s.Entries {
		n += int(e.Spares)
	}
	return n
}

// slotsOf returns a JobSet's slots, in order.
func (w *world) slotsOf(js jobSet) []string {
	var slots []string
	for _, e := range w.entries(js) {
		for job := range e.Jobs {
			for pod := range e.Pods {
				slots = append(slots, e.stage().Slot(job, pod))
			}
		}
	}
	return slots
}

// entries returns a JobSet's replicatedJobs.
func (w *world) entries(js jobSet) []Entry {
	entries := slices.Clone(w.shape.Entries)
	entries[0].Jobs += js.more
	for i := range entries {
		if entries[i].Spares > 0 {
			entries[i].Spares += js.spares
		}
	}
	return entries
}

// fail records the first broken invariant. The history ends there.
func (w *world) fail(invariant, format string, args ...any) {
	if w.breach == nil && w.truth.holdsStill(invariant) {
		w.breach = &Breach{invariant, fmt.Sprintf(format, args...), w.now}
		w.note("BROKEN", "%s: %s", invariant, w.breach.Text)
	}
}

// run advances the time by d, or less if an invariant breaks.
func (w *world) run(d time.Duration) {
	defer w.catch()
	limit := w.now + d
	for w.breach == nil && w.step(limit) {
	}
}

// catch checks S16: it reports a function that fails with a Lua error instead of rejecting what a member has stored.
func (w *world) catch() {
	switch failure := recover().(type) {
	case nil:
	case memory.LibraryError:
		w.fail("S16", "%v", failure)
	default:
		panic(failure)
	}
}

// group returns the group of the current JobSet in the primary, or nil.
func (w *world) group() *view {
	if w.api.current == nil {
		return nil
	}
	return w.store.first.view(w.api.current.uid)
}

// leader returns the orchestrator that leads, or nil.
func (w *world) leader() *orchestrator {
	for _, o := range w.orchestrators {
		if o.up && o.leading && w.api.lease.holder == o.name {
			return o
		}
	}
	return nil
}

func (w *world) findPod(uid string) *pod {
	for _, p := range w.pods {
		if p.uid == uid && !p.gone {
			return p
		}
	}
	return nil
}

func (w *world) findJob(uid string) *job {
	for _, j := range w.jobs {
		if j.uid == uid {
			return j
		}
	}
	return nil
}

// podOf returns the newest pod of a slot in the API server, or nil.
func (w *world) podOf(uid, slot string) *pod {
	var newest *pod
	for _, p := range w.pods {
		if p.slot == slot && p.job.owner == uid && !p.gone {
			newest = p
		}
	}
	return newest
}

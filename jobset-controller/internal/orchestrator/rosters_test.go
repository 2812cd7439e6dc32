package orchestrator

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/owners"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/grouptest"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/memory"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
	"github.com/holdfast-project/holdfast/shared/roster"
)

// crew is an owner with a roster, the agents of its pods, and their leader.
type crew struct {
	*testing.T
	c      client.Client
	clock  *clocktesting.FakePassiveClock
	store  *memory.Store
	r      *Reconciler
	agents map[string]*crewman
	roster roster.Roster
}

// crewman is the pod of a member: the actual core of its agent, with a barrier, and the processes of its worker.
type crewman struct {
	rounds.Slot
	core      *worker.State
	processes []worker.Process // in order of their start
	started   int              // how often its worker was started
	dead      bool
}

func newCrew(t *testing.T) *crew {
	s := runtime.NewScheme()
	metav1.AddMetaToScheme(s)
	s.AddKnownTypeWithName(owners.ElasticJob, &metav1.PartialObjectMetadata{})
	s.AddKnownTypeWithName(owners.ElasticJob.GroupVersion().WithKind("ElasticJobList"), &metav1.PartialObjectMetadataList{})
	owner := owners.MakeElasticJob()
	owner.SetNamespace("ns")
	owner.SetName("train")
	owner.SetUID(uid)
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	k := &crew{
		T: t, c: fake.NewClientBuilder().WithScheme(s).WithObjects(owner).Build(), clock: clock, store: memory.New(clock.Now),
		agents: map[string]*crewman{}, roster: roster.Roster{Epoch: 1, Limit: 3, Timeout: time.Minute},
	}
	k.r = &Reconciler{
		Kind: ElasticJobs, Client: k.c, Store: k.store, Tokens: fixedToken{1, 1}, Clock: clock, Recorder: events.NewFakeRecorder(50),
		Groups: NewGroups(clock), Metrics: testMetrics,
	}
	return k
}

func (k *crew) owner() *metav1.PartialObjectMetadata {
	k.Helper()
	owner := owners.MakeElasticJob()
	if err := k.c.Get(k.Context(), types.NamespacedName{Namespace: "ns", Name: "train"}, owner); err != nil {
		k.Fatal(err)
	}
	return owner
}

// enlist writes the roster.
func (k *crew) enlist(members ...string) *crew {
	k.Helper()
	k.roster.Members = members
	for _, m := range members {
		if k.agents[m] == nil {
			k.agents[m] = newCrewman(m, k.roster.Epoch)
		}
	}
	return k.annotate(k.roster.Format())
}

func (k *crew) annotate(value string) *crew {
	k.Helper()
	owner := k.owner()
	if value == "" {
		delete(owner.Annotations, roster.Annotation)
	} else {
		metav1.SetMetaDataAnnotation(&owner.ObjectMeta, roster.Annotation, value)
	}
	if err := k.c.Update(k.Context(), owner); err != nil {
		k.Fatal(err)
	}
	return k
}

func (k *crew) look() *crew {
	k.Helper()
	k.clock.SetTime(k.clock.Now().Add(10 * time.Millisecond))
	if _, err := k.r.Reconcile(k.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "train"}}); err != nil {
		k.Fatal(err)
	}
	return k
}

// work lets the agents and the leader act until nothing changes.
func (k *crew) work() *crew {
	k.Helper()
	var before string
	for range 50 {
		k.look()
		for _, name := range slices.Sorted(mapsKeys(k.agents)) {
			k.act(k.agents[name])
		}
		now := fmt.Sprintf("%+v", k.group())
		if now == before {
			return k
		}
		before = now
	}
	k.Fatal("the group never settles")
	return nil
}

func mapsKeys(m map[string]*crewman) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range m {
			if !yield(name) {
				return
			}
		}
	}
}

func (k *crew) group() group.Summary {
	k.Helper()
	sum, err := grouptest.Read(k.Context(), k.store, uid)
	if err != nil {
		k.Fatal(err)
	}
	return sum
}

func newCrewman(member string, generation int64) *crewman {
	_, pod, _ := roster.ParseMember(member)
	a := &crewman{Slot: rounds.Slot{Name: roster.Slot(member), Pod: pod}}
	a.core = worker.New(worker.Config{Slot: a.Slot, Generation: generation, Barrier: true, MaxStops: 1000}, worker.Fresh())
	return a
}

// act makes an agent read the level and act on it.
func (k *crew) act(a *crewman) {
	k.Helper()
	if !a.dead {
		k.play(a, worker.Observed{Processes: slices.Clone(a.processes)})
		k.play(a, k.read(a)...)
	}
}

// play passes events to an agent, and executes the agent's actions and their consequences.
func (k *crew) play(a *crewman, events ...worker.Event) {
	k.Helper()
	for len(events) > 0 {
		actions := a.core.Step(k.clock.Now(), events[0])
		events = events[1:]
		for _, action := range actions {
			events = append(events, k.perform(a, action)...)
		}
	}
}

func (k *crew) perform(a *crewman, action worker.Action) []worker.Event {
	k.Helper()
	switch do := action.(type) {
	case worker.Call:
		reply, now, err := k.store.Call(k.Context(), uid, do.Call)
		return []worker.Event{worker.Answered{Reply: reply, Now: now, Err: err}}
	case worker.Read:
		return k.read(a)
	case worker.Prepare:
		born := int64(len(a.processes) + 1)
		a.processes = append(a.processes, worker.Process{ID: fmt.Sprintf("%s-%d", a.Pod, born), Born: born, Running: true})
		return []worker.Event{worker.Observed{Processes: slices.Clone(a.processes)}}
	case worker.Start:
		a.started++
	case worker.Stop:
		return []worker.Event{a.exit(143), worker.StopEnded{ID: do.ID}}
	}
	return nil
}

func (k *crew) read(a *crewman) []worker.Event {
	k.Helper()
	stored, err := k.store.Read(k.Context(), uid)
	if err == nil && stored == nil {
		err = coordination.ErrNoGroup
	}
	if err != nil {
		return []worker.Event{worker.Updated{Observation: rounds.Observation{Read: true, Err: err}}}
	}
	place, err := k.store.Place(k.Context(), uid, a.Slot)
	if err != nil { // its step has not been entered yet
		return []worker.Event{worker.Updated{Observation: rounds.Observation{Read: true, Err: err}}}
	}
	return []worker.Event{worker.Updated{Observation: rounds.Observation{Level: stored.State.Level, Place: &place, Read: true}}}
}

// exit ends the worker.
func (a *crewman) exit(code int64) worker.Event {
	last := &a.processes[len(a.processes)-1]
	last.Running, last.ExitCode = false, code
	return worker.Observed{Processes: slices.Clone(a.processes)}
}

// crash makes a member's worker exit, and its agent report the exit.
func (k *crew) crash(member string, code int64) *crew {
	k.Helper()
	k.play(k.agents[member], k.agents[member].exit(code))
	return k
}

// kill stops the pod of a member without a report.
func (k *crew) kill(member string) *crew { k.agents[member].dead = true; return k }

func (k *crew) report() roster.Report {
	k.Helper()
	r := roster.ReportOf(k.owner().Annotations)
	if r == nil {
		k.Fatal("there is no report")
	}
	return *r
}

// want checks the phase, the restart count, and how often each worker has run.
func (k *crew) want(phase coordination.Phase, round int64, started map[string]int) *crew {
	k.Helper()
	if g := k.group(); g.Phase != phase || g.Round != round {
		k.Errorf("the group is %s at %d, not %s at %d", g.Phase, g.Round, phase, round)
	}
	for member, n := range started {
		if got := k.agents[member].started; got != n {
			k.Errorf("%s has run %d times, not %d", member, got, n)
		}
	}
	return k
}

var (
	w0, w1, w2 = roster.Member(0, "pod-a"), roster.Member(1, "pod-b"), roster.Member(2, "pod-c")
	w3, again2 = roster.Member(3, "pod-d"), roster.Member(2, "pod-e")
)

func TestFailureRestartsAllInPlace(t *testing.T) {
	k := newCrew(t).enlist(w0, w1, w2).work().want(coordination.Running, 0, map[string]int{w0: 1, w1: 1, w2: 1})
	k.crash(w1, 137).work().want(coordination.Running, 1, map[string]int{w0: 2, w1: 2, w2: 2})
	r := k.report()
	if r.Round != 1 || r.Phase != coordination.Running || r.Size != 3 || len(r.Lost) != 0 || len(r.Failures) != 1 {
		t.Fatalf("reported %+v", r)
	}
	if f := r.Failures[0]; f.Member != w1 || f.Kind != coordination.KindExit || f.Code != 137 {
		t.Errorf("the failure is %+v", f)
	}
	k.crash(w1, 137).work()
	if n := len(k.report().Failures); n != 2 {
		t.Errorf("%d failures are reported", n)
	}
}

// New members never cause a restart of running members.
func TestNewMembersRestartNobody(t *testing.T) {
	k := newCrew(t).enlist(w0, w1).work()
	all := []string{w0, w1}
	for i := range 5 {
		all = append(all, roster.Member(10+i, "pod"))
		k.enlist(all...).work()
	}
	for _, m := range all {
		k.want(coordination.Running, 0, map[string]int{m: 1})
	}
	k.crash(all[4], 1).work()
	for _, m := range all {
		k.want(coordination.Running, 1, map[string]int{m: 2})
	}
}

// While the group is waiting for a new member, other members may be added or removed, and failures are handled without
// the new member.
func TestLateNewMember(t *testing.T) {
	k := newCrew(t).enlist(w0, w1).work().enlist(w0, w1, w2)
	k.agents[w2].dead = true
	k.work().want(coordination.Running, 0, map[string]int{w0: 1, w1: 1, w2: 0})
	k.crash(w0, 1).work().want(coordination.Running, 1, map[string]int{w0: 2, w1: 2, w2: 0})
	k.enlist(w0, w1, w2, w3).work()
	k.agents[w2].dead = false
	k.work().want(coordination.Running, 1, map[string]int{w0: 2, w1: 2, w2: 1, w3: 1})
}

// A lost pod causes one restart of the others, and its replacement causes none.
func TestLostPodCostsOneRestart(t *testing.T) {
	k := newCrew(t).enlist(w0, w1, w2).work()
	k.kill(w2).enlist(w0, w1).work().want(coordination.Running, 1, map[string]int{w0: 2, w1: 2})
	k.enlist(w0, w1, again2).work().want(coordination.Running, 1, map[string]int{w0: 2, w1: 2, again2: 1})
	if f := k.report().Failures; len(f) != 0 {
		t.Errorf("a lost pod is reported as a failure of its worker: %+v", f)
	}
}

// The leader does not observe the loss, only that another pod is in the slot.
func TestLostPodReplacedWithinOneReconcile(t *testing.T) {
	k := newCrew(t).enlist(w0, w1, w2).work()
	k.kill(w2).enlist(w0, w1, again2).work().want(coordination.Running, 1, map[string]int{w0: 2, w1: 2, again2: 1})
}

// The agent of a deleted pod reports the end of its worker, which causes the only restart.
func TestDeletedPodReportsItsEnd(t *testing.T) {
	k := newCrew(t).enlist(w0, w1, w2).work().crash(w2, 143).kill(w2)
	k.enlist(w0, w1).work().want(coordination.Running, 1, map[string]int{w0: 2, w1: 2})
}

// Without any restarts left, no worker is stopped until the owner allows more restarts or continues without the worker.
func TestOutOfRestarts(t *testing.T) {
	k := newCrew(t)
	k.roster.Limit = 0
	k.enlist(w0, w1, w2).work().crash(w1, 3).look().want(coordination.Terminal, 0, map[string]int{w0: 1, w2: 1})
	if f := k.report().Failures; len(f) != 1 || f[0].Code != 3 {
		t.Fatalf("the failure is not reported: %+v", f)
	}
	k.kill(w1).enlist(w0, w2).work().want(coordination.Running, 0, map[string]int{w0: 1, w2: 1})
}

// While no restarts are left, no worker is stopped. Once the limit is raised, all workers restart because of the
// failure.
func TestRaisedLimitRestartsTheGroup(t *testing.T) {
	k := newCrew(t)
	k.roster.Limit = 0
	k.enlist(w0, w1).work().crash(w1, 3).work().want(coordination.Terminal, 0, nil)
	k.roster.Limit = 1
	k.enlist(w0, w1).work().want(coordination.Running, 1, map[string]int{w0: 2, w1: 2})
}

// A worker that does not return in time is reported as lost, and the others continue without it.
func TestWorkerThatDoesNotReturn(t *testing.T) {
	k := newCrew(t).enlist(w0, w1, w2).work().crash(w0, 1).kill(w1)
	k.work().want(coordination.Restarting, 1, nil)
	if r := k.report(); len(r.Lost) != 0 || !r.Deadline.After(k.clock.Now()) {
		t.Fatalf("the worker still has time: %+v", r)
	}
	k.clock.SetTime(k.clock.Now().Add(k.roster.Timeout))
	k.look()
	if r := k.report(); len(r.Lost) != 1 || r.Lost[0].Member != w1 {
		t.Fatalf("reported lost: %+v", r.Lost)
	}
	k.enlist(w0, w2).work().want(coordination.Running, 1, map[string]int{w0: 2, w2: 2})
	if r := k.report(); len(r.Lost) != 0 || !r.Deadline.IsZero() {
		t.Errorf("a loss or a deadline is reported: %+v", r)
	}
}

// An agent that cannot stop its worker requests a replacement of its pod.
func TestWorkerThatCannotBeStopped(t *testing.T) {
	k := newCrew(t).enlist(w0, w1).work()
	unit, _ := k.group().UnitOf(k.agents[w1].Name)
	if _, _, err := k.store.Call(k.Context(), uid, rounds.Ask(k.group().Level.Incarnation, unit, k.agents[w1].Slot, coordination.KindUnkilled)); err != nil {
		t.Fatal(err)
	}
	k.look()
	if r := k.report(); len(r.Lost) != 1 || r.Lost[0].Member != w1 {
		t.Fatalf("reported lost: %+v", r.Lost)
	}
	k.kill(w1).enlist(w0).work().want(coordination.Running, 0, map[string]int{w0: 1})
}

// A worker that has finished is not run again, and the others continue.
func TestWorkerThatFinishes(t *testing.T) {
	k := newCrew(t).enlist(w0, w1, w2).work().crash(w0, 0).kill(w0).work()
	k.enlist(w1, w2).work().want(coordination.Running, 0, map[string]int{w1: 1, w2: 1})
	k.crash(w1, 1).work().want(coordination.Running, 1, map[string]int{w0: 1, w1: 2, w2: 2})
	k.crash(w1, 0).crash(w2, 0).look().want(coordination.Completed, 1, nil)
}

// All pods of a generation are gone when the next one starts.
func TestNextGeneration(t *testing.T) {
	k := newCrew(t).enlist(w0, w1).work().crash(w0, 1).work().want(coordination.Running, 1, nil)
	k.kill(w0).kill(w1).enlist().look()
	k.roster.Epoch, k.roster.Limit = 2, 3
	k.enlist(w2, w3).work().want(coordination.Running, 0, map[string]int{w2: 1, w3: 1})
}

// When the store loses its data, no healthy worker is stopped.
func TestStoreThatLosesItsData(t *testing.T) {
	k := newCrew(t).enlist(w0, w1).work().crash(w0, 1).work().want(coordination.Running, 1, nil)
	if err := k.store.Drop(context.Background(), uid); err != nil {
		t.Fatal(err)
	}
	k.work().want(coordination.Running, 1, map[string]int{w0: 2, w1: 2})
}

func TestNoGroupWithoutARoster(t *testing.T) {
	k := newCrew(t).enlist(w0, w1).work().annotate("").look()
	if _, err := grouptest.Read(t.Context(), k.store, uid); err == nil {
		t.Error("the group still exists")
	}
	if r := roster.ReportOf(k.owner().Annotations); r != nil {
		t.Errorf("reported %+v", r)
	}
}

// The roster is temporarily empty or unreadable. The group stays.
func TestEmptyOrUnreadableRosterChangesNothing(t *testing.T) {
	k := newCrew(t).enlist(w0, w1).work().enlist().work().want(coordination.Running, 0, nil)
	k.annotate("{").look().want(coordination.Running, 0, map[string]int{w0: 1, w1: 1})
}

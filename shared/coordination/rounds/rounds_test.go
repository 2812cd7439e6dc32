package rounds

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/interpreter"
)

// store runs the functions for a single group with one unit.
type store struct {
	*testing.T
	*interpreter.Server
}

func newStore(t *testing.T, slots int64) store {
	t.Helper()
	s, err := interpreter.New(interpreter.Options{Library: Library, Now: time.Now, Publish: func(string, string) {}})
	if err != nil {
		t.Fatal(err)
	}
	st := store{t, s}
	l := Level{Incarnation: "i1", Generation: 1, Phase: Active, Left: NoUnits}
	st.call(Set("", Fresh(l, 1), Config{
		Token: coordination.Token{LeaseCreated: 1}, Incarnation: "i1", Generation: 1, Limit: 9, Units: []Unit{{Slots: slots, End: 1}},
	}))
	return st
}

func (s store) call(c Call) string {
	s.Helper()
	args := make([]string, len(c.Arguments))
	for i, a := range c.Arguments {
		args[i] = fmt.Sprint(a)
	}
	reply, err := s.FCall(c.Function, []string{KeysOf("g").State()}, args)
	if err != nil {
		s.Fatalf("%s %v: %v", c.Function, args, err)
	}
	text, _ := reply.(string)
	return text
}

// stored returns the stored form of the state.
func (s store) stored() string { return s.Do("GETRANGE", KeysOf("g").State(), "0", "511").(string) }

func (s store) level() Level {
	s.Helper()
	l, err := ParseLevel(s.stored())
	if err != nil {
		s.Fatal(err)
	}
	return l
}

// join returns the Call with which a pod's first instance joins round 0.
func join(slot int, pod string, entered int, p Past) Call {
	return Join("i1", 0, 0, entered, Member{Slot: Slot{fmt.Sprint("w-", slot), pod}, ID: pod + ".1", Attempt: 1, Past: p})
}

// The store is reset to the state in which two of three members had joined. By the time of the reset, all three were running, and
// the third member's pod had been replaced. The other two may hang because of that, so the new pod must not complete the round a
// second time.
func TestNewPodJoinsAfterALostStart(t *testing.T) {
	s := newStore(t, 3)
	s.call(join(0, "a", 0, Past{Kind: PastNew}))
	s.call(join(1, "b", 0, Past{Kind: PastNew}))
	before := s.Dump()
	s.call(join(2, "c", 0, Past{Kind: PastNew}))
	if !s.level().Running() {
		t.Fatalf("all three have joined: %s", s.level())
	}
	s.Restore(before)
	s.call(join(2, "d", 1, Past{Kind: PastNew, MoreEntered: true}))
	if l := s.level(); !l.Restarting() || l.Round != 1 {
		t.Errorf("a new pod has joined: %s, want round 1", l)
	}
}

// A leader that has not counted the last finished worker must not overwrite the state.
func TestEachWorkerThatIsNotHeldChangesTheState(t *testing.T) {
	s := newStore(t, 3)
	for slot, pod := range []string{"a", "b", "c"} {
		s.call(join(slot, pod, 0, Past{Kind: PastNew}))
	}
	before := s.stored()
	for slot, pod := range []string{"a", "b"} {
		s.call(Finish("i1", 0, Slot{fmt.Sprint("w-", slot), pod}, pod+".1", false))
		now := s.stored()
		if now == before {
			t.Errorf("after %s has finished, the state is unchanged: %q", pod, now)
		}
		before = now
	}
}

// The same loss, but with pods that have run before. No pod was replaced, so no worker is restarted.
func TestLostStartIsRepeated(t *testing.T) {
	s := newStore(t, 2)
	s.call(join(0, "a", 0, Past{Kind: PastRan}))
	before := s.Dump()
	s.call(join(1, "b", 0, Past{Kind: PastRan}))
	s.Restore(before)
	s.call(join(1, "b", 1, Past{Kind: PastRuns, MoreEntered: true}))
	if l := s.level(); !l.Running() || l.Round != 0 {
		t.Errorf("both have joined: %s, want round 0", l)
	}
}

// A join that is delivered after the instance's death was reported does not count. The reply contains the attempt after which to
// continue, for an agent that has lost its file and therefore reuses the ID.
func TestJoinAfterTheReportOfADeath(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		s := newStore(t, 2)
		late := join(0, "a", 0, Past{Kind: PastNew})
		s.call(late)
		s.call(Down("i1", 0, Death{Slot: Slot{"w-0", "a"}, ID: "a.1", Leaves: leaves, Cause: "exit"}))
		if reply := s.call(late); reply != "N1" {
			t.Errorf("leaves %t: the reply to the repeated join is %q, want N1", leaves, reply)
		}
		s.call(join(1, "b", 0, Past{Kind: PastNew}))
		if l := s.level(); l.Running() {
			t.Errorf("leaves %t: the round is running with a dead instance: %s", leaves, l)
		}
		next := Join("i1", 0, 0, 0, Member{Slot: Slot{"w-0", "a"}, ID: "a.2", Attempt: 2, Past: Past{Kind: PastNew}})
		if reply := s.call(next); reply != "J" || !s.level().Running() {
			t.Errorf("leaves %t: the reply to the next instance is %q: %s", leaves, reply, s.level())
		}
	}
}

// The store is reset to the previous round, so that a death in the later round does not open a round. When the later round is
// restored, it must not contain the dead instance's join.
func TestDeathInARoundThatTheStoreHasLost(t *testing.T) {
	s := newStore(t, 2)
	s.call(join(0, "a", 0, Past{Kind: PastNew}))
	s.call(join(1, "b", 0, Past{Kind: PastNew}))
	in1 := func(slot int, pod string) Call {
		return Join("i1", 0, 1, 1, Member{Slot: Slot{fmt.Sprint("w-", slot), pod}, ID: pod + ".2", Attempt: 2, Past: Past{Kind: PastRan}})
	}
	s.call(in1(0, "a"))
	s.call(Down("i1", 0, Death{Slot: Slot{"w-0", "a"}, ID: "a.2", Round: 1, Leaves: true, Cause: "exit"}))
	s.call(Lost("i1", 0, Slot{"w-1", "b"}, 1, 1))
	s.call(in1(1, "b"))
	if l := s.level(); l.Round != 1 || l.Running() {
		t.Errorf("the round is running with a dead instance: %s", l)
	}
}

// A member can forge any time. The difference between two such times would overflow a time.Duration.
func TestTimesAreLimited(t *testing.T) {
	far := fmt.Sprint(MaxCount)
	for _, text := range []string{"1 1 0 " + far + " next w-0 exit", "1 1 " + far + " 1 next w-0 exit"} {
		if line, err := ParseLine(text); err == nil {
			t.Errorf("%s was read as %+v", text, line)
		}
	}
	line := Line{OpenedAt: time.UnixMilli(9), Cause: "exit 1 0 - - - " + far + " " + far}
	if f := line.Failure(); f.FailedAt != 9 || f.DetectedAt != 9 {
		t.Errorf("%+v", f)
	}
	if s, err := ParseState("2 i1 1 1 A 0 1 1 - 0|1 0 " + far + " 0 0"); err == nil {
		t.Errorf("read as %+v", s)
	}
}

// The leader uses the generation in the state as the JobSet's epoch. A member must not be able to change it.
func TestForgedGenerationIsForeign(t *testing.T) {
	s := newStore(t, 1)
	forged := Fresh(Level{Incarnation: "i1", Generation: 1 << 40, Phase: Active, Left: NoUnits}, 1)
	if stored, err := ParseStored(forged.String(), s.Hash(KeysOf("g").Config())); err == nil {
		t.Errorf("read as generation %d", stored.State.Generation)
	}
	s.Do("SET", KeysOf("g").State(), forged.String())
	args := []string{"i1", "0", "w-0", "a", "gap"}
	if _, err := s.FCall(FunctionAsk, []string{KeysOf("g").State()}, args); err == nil || Error(err.Error()) != coordination.ErrForeignValue {
		t.Errorf("a call: %v", err)
	}
}

// A leader that found no group must not replace a group that has reappeared when its write arrives, as can happen after a network
// partition of the store.
func TestGroupThatIsBackIsNotReplaced(t *testing.T) {
	s := newStore(t, 2)
	fresh := Config{Token: coordination.Token{LeaseCreated: 1}, Incarnation: "i2", Generation: 1, Limit: 9, Units: []Unit{{Slots: 2, End: 1}}}
	write := Set("", Fresh(Level{Incarnation: "i2", Generation: 1, Phase: Active, Left: NoUnits}, 1), fresh)
	if reply := s.call(write); reply != "-" || s.level().Incarnation != "i1" {
		t.Errorf("the reply to the write is %q, and the store has %s", reply, s.level())
	}
	s.Do("DEL", KeysOf("g").Config())
	if s.call(write); s.level().Incarnation != "i2" {
		t.Errorf("without its configuration, the group is not replaced: %s", s.level())
	}
}

// The two sides of a partitioned store may reach the same seq with different states. A leader that has read one of them must not
// overwrite the other.
func TestWriteRequiresTheStateThatWasRead(t *testing.T) {
	a, b := newStore(t, 2), newStore(t, 2)
	a.call(join(0, "a", 0, Past{Kind: PastNew}))
	b.call(join(0, "a", 0, Past{Kind: PastNew}))
	a.call(join(1, "b", 0, Past{Kind: PastNew}))
	b.call(Ask("i1", 0, Slot{"w-0", "a"}, "gap"))
	read := b.stored()
	if a.level().Seq != b.level().Seq || a.level() == b.level() {
		t.Fatalf("the test needs different states with the same seq: %s and %s", a.stored(), read)
	}
	config := Config{Token: coordination.Token{LeaseCreated: 1}, Incarnation: "i1", Generation: 1, Limit: 9, Units: []Unit{{Slots: 2, End: 1}}}
	write := Set(read, Fresh(Level{Incarnation: "i1", Generation: 1, Phase: Recreate, Left: NoUnits}, 1), config)
	if reply := a.call(write); reply != "-" {
		t.Errorf("the reply to the write is %q", reply)
	}
	if reply := b.call(write); reply == "-" {
		t.Error("the write over the state that was read is rejected")
	}
}

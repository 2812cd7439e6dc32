package coordination

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// story drives one group of three workers and reads like a log: each step is a word, its effect is compared.
type story struct {
	t       *testing.T
	g       *Group
	now     int64
	barrier bool // its workers wait at a barrier
	// instance numbers per slot: the ID of slot 1's second instance is "1b"
}

func newStory(t *testing.T, limit int64) *story {
	t.Helper()
	return newStoryOf(t, limit, Stage{Prefix: "js-w", Jobs: 1, Pods: 3})
}

func newStoryOf(t *testing.T, limit int64, stages ...Stage) *story {
	t.Helper()
	g, err := NewGroup(Open{Incarnation: "inc", Epoch: 1, Limit: limit, Token: Token{1, 1}, Stages: stages}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return &story{t: t, g: g, now: 1}
}

// member and instance of a name such as "1b": slot 1, second instance, in the slot's first pod; "1bP" is its second pod,
// and "x1b" is of the stage x.
func who(name string) (Member, Instance) {
	stage := "w"
	if name[0] > '9' {
		stage, name = name[:1], name[1:]
	}
	slot, life := name[:1], int64(name[1]-'a'+1)
	pod := int64(1)
	if strings.HasSuffix(name, "P") {
		pod = 2
	}
	return Member{Slot: "js-" + stage + "-0-" + slot, Pod: fmt.Sprintf("pod%s%s-%d", stage, slot, pod), PodBorn: pod * 100},
		Instance{ID: name, Born: pod*100 + life}
}

func (s *story) join(names ...string) {
	s.t.Helper()
	for _, n := range names {
		s.joinSeen(n, Unseen())
	}
}

func (s *story) joinSeen(name string, seen Seen) Reply {
	s.t.Helper()
	s.now++
	m, i := who(name)
	r, err := s.g.Join(Join{Member: m, Instance: i, Barrier: s.barrier, Seen: seen}, s.now)
	if err != nil {
		s.t.Fatalf("join %s: %v", name, err)
	}
	return r
}

func (s *story) down(name string, code int64, ordered bool) Reply {
	s.t.Helper()
	return s.downSeen(name, code, ordered, Unseen())
}

func (s *story) downSeen(name string, code int64, ordered bool, seen Seen) Reply {
	s.t.Helper()
	s.now++
	m, i := who(name)
	r, err := s.g.Down(Down{Member: m, Instance: i, Barrier: s.barrier, ExitCode: code, Ordered: ordered, Seen: seen}, s.now)
	if err != nil {
		s.t.Fatalf("down %s: %v", name, err)
	}
	return r
}

func (s *story) is(phase Phase, round, joined int64) {
	s.t.Helper()
	if s.g.Phase != phase || s.g.Round != round || s.g.Joined() != joined {
		s.t.Fatalf("group is %s(%d) with %d joined, want %s(%d) with %d",
			s.g.Phase, s.g.Round, s.g.Joined(), phase, round, joined)
	}
}

func formed(t *testing.T, limit int64) *story {
	s := newStory(t, limit)
	s.join("0a", "1a", "2a")
	s.is(Running, 0, 3)
	return s
}

func TestAWorkerDiesAndTheGroupRestarts(t *testing.T) {
	s := formed(t, 5)
	s.down("1a", 137, false)
	s.is(Restarting, 1, 0)
	s.down("0a", 143, true)
	s.join("1b")
	s.down("2a", 143, true)
	s.join("0b")
	s.is(Restarting, 1, 2)
	s.join("2b")
	s.is(Running, 1, 3)
	rec := s.g.History[len(s.g.History)-1]
	if rec.Cause != (Cause{Slot: "js-w-0-1", Kind: KindExit, ExitCode: 137}) || rec.Downs != 3 || rec.Ups != 3 || rec.Coalesced != 0 {
		t.Errorf("record %+v", rec)
	}
	if rec.ReportedAt >= rec.LastDownAt || rec.LastDownAt >= rec.LastUpAt || rec.LastUpAt != rec.InSyncAt {
		t.Errorf("times out of order: %+v", rec)
	}
}

func TestFailuresThatComeTogetherAreOneRestart(t *testing.T) {
	s := formed(t, 5)
	s.down("1a", 1, false)
	s.down("2a", 1, false)
	s.join("2b", "1b")
	s.down("0a", 143, true)
	s.join("0b")
	s.is(Running, 1, 3)
	if got := s.g.Record.Coalesced; got != 1 {
		t.Errorf("coalesced %d, want 1", got)
	}
}

func TestADeathInARestartingRoundOpensOneMoreWhenAllHaveJoined(t *testing.T) {
	s := formed(t, 5)
	s.down("0a", 1, false)
	s.join("0b")
	s.down("0b", 1, false)
	s.is(Restarting, 1, 0)
	s.join("0c", "1b")
	s.is(Restarting, 1, 2)
	s.join("2b")
	s.is(Restarting, 2, 0)
	s.join("0d", "1c", "2c")
	s.is(Running, 2, 3)
}

func TestADeathWhileFormingIsNotForgotten(t *testing.T) {
	s := newStory(t, 5)
	s.join("0a")
	s.down("0a", 1, false)
	s.join("0b", "1a", "2a")
	s.is(Restarting, 1, 0)
}

func TestAnUnreportedDeathIsSeenByTheNextInstance(t *testing.T) {
	s := formed(t, 5)
	s.join("2b")
	s.is(Restarting, 1, 1)
	if s.g.Record.Cause.Kind != KindReplaced {
		t.Errorf("cause %+v", s.g.Record.Cause)
	}
}

func TestRepeatedAndLateReportsChangeNothing(t *testing.T) {
	s := formed(t, 5)
	s.down("1a", 1, false)
	s.join("1b")
	seq := s.g.Seq
	s.down("1a", 1, false)
	s.join("1a", "1b")
	s.is(Restarting, 1, 1)
	if s.g.Seq != seq {
		t.Errorf("the level changed: %d, want %d", s.g.Seq, seq)
	}
}

func TestTheBudgetEndsInTerminalWithNobodyKilled(t *testing.T) {
	s := formed(t, 1)
	s.down("0a", 1, false)
	s.join("0b", "1b", "2b")
	s.is(Running, 1, 3)
	s.down("2b", 9, false)
	s.is(Terminal, 1, 2)
	s.join("2c")
	s.is(Terminal, 1, 3)
}

func TestAFinishedWorkerCannotRunAgain(t *testing.T) {
	s := formed(t, 5)
	s.down("0a", 0, false)
	s.is(Running, 0, 3)
	s.down("1a", 1, false)
	s.is(Recreating, 0, 2)
}

func TestAllFinishedIsCompleted(t *testing.T) {
	s := formed(t, 5)
	s.down("0a", 0, false)
	s.down("1a", 0, false)
	s.down("2a", 0, false)
	s.is(Completed, 0, 0)
	if s.g.Done() != 3 {
		t.Errorf("done %d", s.g.Done())
	}
	s.join("0aP")
	s.is(Completed, 0, 0)
}

func TestExitZeroOnAnOrderIsADeath(t *testing.T) {
	s := formed(t, 5)
	s.down("0a", 1, false)
	s.down("1a", 0, true)
	s.join("0b", "1b", "2b")
	s.is(Running, 1, 3)
	if s.g.Done() != 0 {
		t.Errorf("done %d", s.g.Done())
	}
}

func TestANewPodOpensARoundAndFencesTheOld(t *testing.T) {
	s := formed(t, 5)
	s.down("1a", 0, false) // deleted pod: the worker exits 0 on SIGTERM
	s.join("1aP")
	s.is(Restarting, 1, 1)
	m, i := who("1b")
	if _, err := s.g.Join(Join{Member: m, Instance: i, Seen: Unseen()}, 99); !errors.Is(err, ErrFenced) {
		t.Errorf("the old pod got %v, want ErrFenced", err)
	}
	s.is(Restarting, 1, 1)
}

func TestALaterEpochStartsAtZeroAndFencesEveryPod(t *testing.T) {
	s := formed(t, 5)
	if err := s.g.Open(Open{Token: Token{1, 1}, Epoch: 2, Limit: 3, Stages: s.g.Stages}, 50); err != nil {
		t.Fatal(err)
	}
	s.is(Forming, 0, 0)
	m, i := who("0a")
	if _, err := s.g.Join(Join{Member: m, Instance: i, Seen: Unseen()}, 51); !errors.Is(err, ErrFenced) {
		t.Errorf("got %v, want ErrFenced", err)
	}
	s.join("0aP", "1aP", "2aP")
	s.is(Running, 0, 3)
}

func lost(t *testing.T) *story {
	s := newStory(t, 9)
	g, err := NewGroup(Open{Incarnation: "new", Epoch: 1, Limit: 9, Stages: s.g.Stages, Recover: true}, 1)
	if err != nil {
		t.Fatal(err)
	}
	s.g = g
	s.is(Recovering, 0, 0)
	return s
}

func TestRecovery(t *testing.T) {
	ran := func(round int64) Seen { return Seen{Epoch: 1, Round: round, Holds: true, Running: true, Instances: 1} }
	mid := func(round, instances int64) Seen {
		return Seen{Epoch: 1, Round: round, Holds: true, Entered: true, Instances: instances}
	}
	died := func(round int64) Seen { return Seen{Epoch: 1, Round: round, Running: true, Instances: 1} }
	cases := map[string]struct {
		seen   [3]Seen
		phase  Phase
		round  int64
		joined int64
	}{
		"equal rounds run on untouched":                          {[3]Seen{ran(4), ran(4), ran(4)}, Running, 4, 3},
		"nobody knows a round":                                   {[3]Seen{Unseen(), Unseen(), Unseen()}, Running, 0, 3},
		"merely unequal: the highest":                            {[3]Seen{ran(3), mid(4, 1), mid(4, 1)}, Restarting, 4, 2},
		"a worker died meanwhile: one more":                      {[3]Seen{ran(4), died(4), ran(4)}, Restarting, 5, 1},
		"a new pod among workers that were running: one more":    {[3]Seen{ran(4), Unseen(), ran(4)}, Restarting, 5, 1},
		"a second instance in a round that never ran: one more":  {[3]Seen{mid(4, 1), mid(4, 2), mid(4, 1)}, Restarting, 5, 0},
		"a new pod among workers that were not running: highest": {[3]Seen{mid(4, 1), Unseen(), mid(3, 1)}, Restarting, 4, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := lost(t)
			for i, seen := range tc.seen {
				s.joinSeen(fmt.Sprintf("%da", i), seen)
			}
			s.is(tc.phase, tc.round, tc.joined)
		})
	}
}

func TestAStoreThatWentBackCollectsAnew(t *testing.T) {
	s := formed(t, 5)
	seen := Seen{Epoch: 1, Round: 1, Holds: true, Running: true, Instances: 1}
	s.joinSeen("0b", seen)
	s.is(Recovering, 0, 1)
	s.joinSeen("1b", seen)
	s.joinSeen("2b", seen)
	s.is(Running, 1, 3)
}

func TestALostMomentWithADeathInItIsNotMissed(t *testing.T) {
	s := formed(t, 5)
	s.down("0a", 1, false)
	s.join("0b", "1b") // the store comes back to here; the agents saw Running(1), then pod 2 was replaced
	s.is(Restarting, 1, 2)
	s.join("2aP")
	s.is(Running, 1, 3) // nobody could know yet
	s = formed(t, 5)
	s.down("0a", 1, false)
	s.join("0b", "1b")
	ran := Seen{Epoch: 1, Round: 1, Holds: true, Running: true, Instances: 1}
	s.joinSeen("0b", ran)
	s.is(Recovering, 1, 1)
	s.join("2aP")
	s.joinSeen("1b", ran)
	s.is(Restarting, 2, 1)
}

func TestNothingJoinsAGroupThatIsAboutToGo(t *testing.T) {
	s := formed(t, 5)
	s.down("0a", 0, false)
	s.down("1a", 1, false)
	s.is(Recreating, 0, 2)
	s.join("1aP", "0aP") // pods of the next epoch, early
	s.is(Recreating, 0, 2)
	if err := s.g.Open(Open{Token: Token{1, 1}, Epoch: 2, Limit: 3, Stages: s.g.Stages}, 50); err != nil {
		t.Fatal(err)
	}
	s.join("0aP", "1aP", "2aP")
	s.is(Running, 0, 3)
}

func TestAResizeDoesNotHideAFailure(t *testing.T) {
	s := formed(t, 0)
	s.down("0a", 1, false)
	s.is(Terminal, 0, 2)
	if err := s.g.Open(Open{Token: Token{1, 1}, Epoch: 1, Limit: 0, Stages: []Stage{{Prefix: "js-w", Jobs: 1, Pods: 4}}}, 50); err != nil {
		t.Fatal(err)
	}
	s.is(Terminal, 0, 2)
}

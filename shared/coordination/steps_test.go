package coordination

import "testing"

// ordered is a group of two steps of two workers each: a, and then b.
func orderedGroup(t *testing.T) *story {
	return newStoryOf(t, 5, Stage{Prefix: "js-a", Jobs: 1, Pods: 2}, Stage{Prefix: "js-b", Jobs: 1, Pods: 2, Step: 1})
}

func (s *story) steps(want string) {
	s.t.Helper()
	if s.g.Level.Steps != want {
		s.t.Fatalf("the steps are %s, want %s", s.g.Level.Steps, want)
	}
}

func TestAStepFormsByItself(t *testing.T) {
	s := orderedGroup(t)
	s.is(Forming, 0, 0)
	s.steps("-,-")
	s.join("a0a", "a1a")
	s.is(Running, 0, 2)
	s.steps("0,-")
	seq := s.g.Seq
	s.join("b0a")
	s.is(Running, 0, 2)
	if s.g.Seq != seq {
		t.Error("a join of a forming step was broadcast")
	}
	s.join("b1a")
	s.is(Running, 0, 4)
	s.steps("0,0")
	if s.g.Seq != seq+1 {
		t.Errorf("the step entered with %d broadcasts, want 1", s.g.Seq-seq)
	}
}

func TestADeathLeavesAFormingStepAlone(t *testing.T) {
	s := orderedGroup(t)
	s.join("a0a", "a1a", "b0a")
	s.down("a0a", 1, false)
	s.is(Restarting, 1, 0)
	if got := s.joinSeen("b0a", Unseen()).Round; got != 0 {
		t.Errorf("the waiting worker's round is %d, want the one it was given, 0", got)
	}
	s.join("b1a")
	s.steps("0,1")
	s.is(Restarting, 1, 2)
	if got := s.joinSeen("b0a", Unseen()).Round; got != 1 {
		t.Errorf("its round is %d after its step entered at 1", got)
	}
	s.down("a1a", 143, true)
	s.join("a0b", "a1b")
	s.is(Running, 1, 4)
	if rec := s.g.Record; rec.Downs != 2 || rec.Coalesced != 0 {
		t.Errorf("the forming step is in the record %+v", rec)
	}
}

func TestALaterStepNeverEntersFirst(t *testing.T) {
	s := orderedGroup(t)
	s.join("b0a", "b1a")
	s.is(Forming, 0, 2)
	s.steps("-,-")
	s.join("a0a", "a1a")
	s.is(Running, 0, 4)
	s.steps("0,0")
}

func TestADeathInAFormingStepIsAnsweredWhenItEnters(t *testing.T) {
	s := orderedGroup(t)
	s.join("a0a", "a1a", "b0a")
	s.down("b0a", 7, false)
	s.is(Running, 0, 2)
	s.join("b0b", "b1a")
	s.is(Restarting, 1, 0)
	if cause := s.g.Record.Cause; cause != (Cause{Slot: "js-b-0-0", Kind: KindExit, ExitCode: 7}) {
		t.Errorf("cause %+v", cause)
	}
}

func TestADirtyStepThatEntersARestartingGroupMakesOneMoreRound(t *testing.T) {
	s := orderedGroup(t)
	s.join("a0a", "a1a", "b0a")
	s.down("b0a", 7, false)
	s.down("a0a", 1, false)
	s.join("b0b", "b1a")
	s.is(Restarting, 1, 2)
	s.join("a0b", "a1b")
	s.is(Restarting, 2, 0)
}

func TestAtABarrierADeathInAFormingStepIsNone(t *testing.T) {
	s := orderedGroup(t)
	s.barrier = true
	s.join("a0a", "a1a", "b0a")
	s.down("b0a", 7, false)
	s.join("b0b", "b1a")
	s.is(Running, 0, 4)
}

func TestAtABarrierADeathInTheRoundInProgressJustJoinsAgain(t *testing.T) {
	s := newStory(t, 5)
	s.barrier = true
	s.join("0a", "1a", "2a")
	s.down("0a", 1, false)
	s.join("0b")
	s.down("0b", 1, false)
	s.join("0c", "0d", "1b", "2b") // one death reported, one not
	s.is(Running, 1, 3)
	s.down("0d", 1, false)
	s.is(Restarting, 2, 0)
}

func TestTheLevelSaysForWhomTheBarrierIsOpen(t *testing.T) {
	s := orderedGroup(t)
	s.join("a0a", "a1a")
	if !s.g.Lifted(0) || s.g.Lifted(1) || s.g.Lifted(2) || s.g.Lifted(-1) {
		t.Errorf("running with step 0 only: %s", s.g.Level)
	}
	s.down("a0a", 1, false)
	if s.g.Lifted(0) {
		t.Error("the barrier is open while restarting")
	}
	if round, ok := s.g.Entered(0); round != 0 || !ok {
		t.Errorf("step 0 entered at %d, %v", round, ok)
	}
	if _, ok := s.g.Entered(1); ok {
		t.Error("step 1 has entered")
	}
}

func TestTheLeaderHearsOnlyOfMissingSlotsThatAreExpected(t *testing.T) {
	s := orderedGroup(t)
	if n := len(s.g.Missing()); n != 4 {
		t.Errorf("%d missing before the first step, want 4", n)
	}
	s.join("a0a", "a1a")
	if missing := s.g.Missing(); len(missing) != 0 {
		t.Errorf("missing %v", missing)
	}
}

func TestRecoveryWaitsForTheStepsThatHadEntered(t *testing.T) {
	ran := Seen{Epoch: 1, Round: 3, Holds: true, Running: true, Entered: true, Instances: 1}
	waits := Seen{Epoch: 1, Round: 3, Holds: true, Instances: 1}
	lostStages := func() *story {
		s := orderedGroup(t)
		g, err := NewGroup(Open{Incarnation: "new", Epoch: 1, Limit: 9, Stages: s.g.Stages, Recover: true}, 1)
		if err != nil {
			t.Fatal(err)
		}
		s.g = g
		return s
	}
	t.Run("not for one that was forming", func(t *testing.T) {
		s := lostStages()
		s.joinSeen("b0a", waits)
		s.joinSeen("a0a", ran)
		s.joinSeen("a1a", ran)
		s.is(Running, 3, 2)
		s.steps("0,-")
		s.join("b1a")
		s.is(Running, 3, 4)
		s.steps("0,3")
	})
	t.Run("nor for one that has not begun, when the first one had not entered either", func(t *testing.T) {
		s := lostStages()
		s.join("a0a", "a1a")
		s.is(Running, 0, 2)
	})
	t.Run("but for one that had entered", func(t *testing.T) {
		s := lostStages()
		s.joinSeen("b0a", ran)
		s.joinSeen("a0a", ran)
		s.joinSeen("a1a", ran)
		s.is(Recovering, 0, 3)
		s.joinSeen("b1a", ran)
		s.is(Running, 3, 4)
	})
	t.Run("and once more if it hears of it too late", func(t *testing.T) {
		s := lostStages()
		s.joinSeen("a0a", ran)
		s.joinSeen("a1a", ran)
		s.is(Running, 3, 2)
		s.joinSeen("b0a", ran)
		s.is(Recovering, 3, 1)
		s.joinSeen("a0a", ran)
		s.joinSeen("a1a", ran)
		s.joinSeen("b1a", ran)
		s.is(Running, 3, 4)
	})
}

func TestRecoveryAtABarrier(t *testing.T) {
	ran := func(round int64) Seen {
		return Seen{Epoch: 1, Round: round, Holds: true, Running: true, Entered: true, Instances: 1}
	}
	mid := func(round int64, holds bool, instances int64) Seen {
		return Seen{Epoch: 1, Round: round, Holds: holds, Entered: true, Instances: instances}
	}
	died := func(round int64) Seen {
		return Seen{Epoch: 1, Round: round, Running: true, Entered: true, Instances: 1}
	}
	cases := map[string]struct {
		seen  [3]Seen
		phase Phase
		round int64
	}{
		"a second instance that waits is no cause":                 {[3]Seen{mid(4, true, 1), mid(4, true, 2), mid(4, true, 1)}, Running, 4},
		"nor is one that died waiting":                             {[3]Seen{mid(4, true, 1), mid(4, false, 1), mid(4, true, 1)}, Running, 4},
		"nor one that died waiting while others still ran the old": {[3]Seen{ran(3), mid(4, false, 1), mid(4, true, 1)}, Restarting, 4},
		"one that died running is":                                 {[3]Seen{ran(4), died(4), ran(4)}, Restarting, 5},
		"and one that died when others were let run":               {[3]Seen{ran(4), mid(4, false, 1), ran(4)}, Restarting, 5},
		"and a new pod among those that were let run":              {[3]Seen{ran(4), Unseen(), ran(4)}, Restarting, 5},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := lost(t)
			s.barrier = true
			for i, seen := range tc.seen {
				s.joinSeen(string(rune('0'+i))+"a", seen)
			}
			if s.g.Phase != tc.phase || s.g.Round != tc.round {
				t.Errorf("%s(%d), want %s(%d)", s.g.Phase, s.g.Round, tc.phase, tc.round)
			}
		})
	}
}

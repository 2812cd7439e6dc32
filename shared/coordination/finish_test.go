package coordination

import "testing"

// held is a group at a barrier, of one stage for each release.
func heldGroup(t *testing.T, stages ...Stage) *story {
	s := newStoryOf(t, 5, stages...)
	s.barrier = true
	return s
}

func pair(name string, step int64, r Release) Stage {
	return Stage{Prefix: "js-" + name, Jobs: 1, Pods: 2, Step: step, Release: r}
}

func TestAHeldWorkerRunsAgain(t *testing.T) {
	s := heldGroup(t, pair("w", 0, ReleaseHeld))
	s.join("0a", "1a")
	if r := s.down("0a", 0, false); r.Released {
		t.Error("it was released with a peer still at work")
	}
	s.is(Running, 0, 2)
	s.down("1a", 1, false)
	s.is(Restarting, 1, 0)
	if s.g.Done() != 0 {
		t.Errorf("done %d in the new round", s.g.Done())
	}
	s.join("1b")
	s.is(Restarting, 1, 1)
	s.join("0b")
	s.is(Running, 1, 2)
	s.down("0b", 0, false)
	if r := s.down("1b", 0, false); !r.Released {
		t.Error("it is held though all have finished")
	}
	s.is(Completed, 1, 0)
	s.steps("x")
}

func TestAFreeWorkerIsNotHeld(t *testing.T) {
	s := heldGroup(t, pair("w", 0, ReleaseFree))
	s.join("0a", "1a")
	if r := s.down("0a", 0, false); !r.Released {
		t.Error("it is held")
	}
	s.down("1a", 1, false)
	s.is(Recreating, 0, 1)
}

func TestOnlyWhatIsNeededHoldsTheOthers(t *testing.T) {
	s := heldGroup(t, pair("n", 0, ReleaseNeeded), pair("w", 0, ReleaseHeld))
	s.join("n0a", "n1a", "w0a", "w1a")
	s.down("w0a", 0, false)
	s.down("n0a", 0, false)
	s.is(Running, 0, 4)
	if r := s.down("n1a", 0, false); !r.Released {
		t.Error("the last one that is needed is held")
	}
	s.is(Completed, 0, 2)
	s.down("w1a", 1, false)
	s.is(Completed, 0, 2)
}

func TestAGateLeavesWhenItsStageHasFinished(t *testing.T) {
	s := heldGroup(t, pair("g", 0, ReleaseGate), pair("w", 0, ReleaseHeld), pair("x", 1, ReleaseHeld))
	s.join("g0a", "g1a", "w0a", "w1a")
	if r := s.down("g0a", 0, false); r.Released {
		t.Error("the gate is open with half of it finished")
	}
	if r := s.down("g1a", 0, false); !r.Released || !r.Level.StageLeft(r.Step, r.Stage) {
		t.Errorf("the gate is closed: %+v", r)
	}
	s.steps("0!0,-")
	s.is(Running, 0, 2)
	s.down("w0a", 1, false)
	s.is(Restarting, 1, 0)
	s.join("w0b", "w1b", "g0b")
	s.is(Running, 1, 2)
	s.join("x0a", "x1a")
	s.steps("0!0,1")
	s.is(Running, 1, 4)
}

func TestAStepThatHasLeftIsNoReasonToRecreate(t *testing.T) {
	for _, barrier := range []bool{false, true} {
		s := heldGroup(t, pair("g", 0, ReleaseGate), pair("x", 1, ReleaseHeld))
		s.barrier = barrier
		s.join("g0a", "g1a")
		s.down("g0a", 0, false)
		s.down("g1a", 0, false)
		s.steps("x,-")
		s.is(Running, 0, 0)
		s.join("x0a", "x1a")
		s.steps("x,0")
		s.down("x0a", 1, false)
		s.is(Restarting, 1, 0)
		s.join("x0b", "x1b")
		s.is(Running, 1, 2)
		if r := s.joinSeen("g0aP", Unseen()); !r.Released || r.Round != NoRound {
			t.Errorf("a new pod in a stage that has left got %+v", r)
		}
	}
}

func TestANewPodOfAHeldWorkerIsARestart(t *testing.T) {
	s := heldGroup(t, pair("w", 0, ReleaseHeld))
	s.join("0a", "1a")
	s.down("0a", 0, false)
	s.join("0aP")
	s.is(Restarting, 1, 1)
	if s.g.Done() != 0 {
		t.Errorf("done %d", s.g.Done())
	}
}

func TestAHeldWorkerSaysAgainThatItHasFinished(t *testing.T) {
	s := heldGroup(t, pair("w", 0, ReleaseHeld))
	ran := Seen{Epoch: 1, Round: 2, Holds: true, Running: true, Entered: true, Instances: 1}
	s.g.recover()
	s.downSeen("0a", 0, false, ran)
	s.is(Recovering, 0, 1)
	s.joinSeen("1a", ran)
	s.is(Running, 2, 2)
	s.g.recover()
	s.is(Recovering, 2, 0)
	s.downSeen("0a", 0, false, ran)
	s.joinSeen("1a", ran)
	s.is(Running, 2, 2)
	if s.g.Done() != 1 {
		t.Errorf("done %d, want 1", s.g.Done())
	}
}

func TestAHeldWorkerThatMissedARoundRunsItAfterARecovery(t *testing.T) {
	s := heldGroup(t, pair("w", 0, ReleaseHeld))
	s.g.recover()
	s.downSeen("0a", 0, false, Seen{Epoch: 1, Round: 2, Holds: true, Running: true, Entered: true, Instances: 1})
	s.joinSeen("1a", Seen{Epoch: 1, Round: 3, Holds: true, Entered: true, Instances: 1})
	s.is(Restarting, 3, 1)
	s.join("0b")
	s.is(Running, 3, 2)
}

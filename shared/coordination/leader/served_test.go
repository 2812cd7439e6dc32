package leader

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

const me = "ns/holdfast-inplace"

// served returns a settled scene in which the owner's controller does not know about groups.
func served(change func(*scene)) *scene {
	return settled(func(s *scene) {
		s.Owner.Served, s.Owner.PolicyPrefix = &Served{Installation: me}, "recreate/"
		s.Jobs[0].LedBy, s.Reads.HistoryRead = me, true
		if change != nil {
			change(s)
		}
	})
}

// deeds describes a plan's actions.
func deeds(p Plan) string {
	var words []string
	for _, action := range p.Actions {
		switch a := action.(type) {
		case Annotate:
			if a.LedBy != nil {
				words = append(words, "claim for "+*a.LedBy)
			} else if a.Epoch != nil {
				words = append(words, fmt.Sprintf("epoch %d after %s with %d charged", a.Epoch.Epoch, a.Epoch.Cause, a.Epoch.Base))
			} else {
				words = append(words, annotationText(a))
			}
		case DeleteJob:
			words = append(words, "delete "+a.Job.Name+" for "+string(a.For))
		case MoveJob:
			words = append(words, fmt.Sprintf("move %s to %d", a.Job.Name, a.Epoch))
		case DeletePod:
			words = append(words, "delete pod "+a.Pod.Name+" for "+string(a.For))
		case FailOwner:
			words = append(words, "fail: "+a.Message)
		case DropGroup:
			words = append(words, "drop")
		case WriteGroup:
			words = append(words, "write: "+string(a.Reason))
		case SetConditions:
			words = append(words, "say "+a.InSync.Reason)
		default:
			words = append(words, fmt.Sprintf("%T", a))
		}
	}
	return strings.Join(words, ", ")
}

func unprepared(s *scene) {
	s.Jobs = append(s.Jobs, &workload.Job{Name: "js-v-0", UID: "other", Stage: "js-v", Generation: 1, Current: true})
}

// joining makes the workers join for the first time.
func joining(s *scene) {
	s.Stored.State.Level, s.Stored.Joined = level("A 1 0/0"), []int64{3}
	s.memory.accounted = s.Stored.State.Level
	s.Owner.InSync = &Condition{Reason: ReasonForming}
}

func TestServedOwner(t *testing.T) {
	for name, c := range map[string]struct {
		in   *scene
		want string
	}{
		"nothing to do":                      {served(nil), "say InSync"},
		"it is claimed before anything else": {served(func(s *scene) { s.Owner.Served.Claim = true; unprepared(s) }), "claim for " + me},
		"a Job without agents in a forming group": {
			served(func(s *scene) { joining(s); unprepared(s) }), "delete js-w-0 for missed",
		},
		"a Job of another installation counts as one without agents": {
			served(func(s *scene) { joining(s); s.Jobs[0].LedBy = "other/one" }), "drop",
		},
		"when no Job has agents, the group is dropped": {
			served(func(s *scene) { joining(s); s.Jobs = nil; unprepared(s) }), "drop",
		},
		"and the condition reports it": {
			served(func(s *scene) { s.Jobs, s.Stored = nil, nil; unprepared(s) }), "say NotPossible",
		},
		"a Job recreated without agents in a running group is recreated again": {
			served(unprepared), "delete js-v-0 for missed",
		},
		"but not again immediately": {
			served(func(s *scene) { unprepared(s); s.memory.missedChecked = now.Add(-MissedEvery / 2) }), "say InSync",
		},
		"a recreation by its controller opens an epoch and is charged": {
			served(func(s *scene) { s.Owner.Served.Restarts, s.Owner.Served.Counted = 1, 1 }), "epoch 3 after recreate/1 with 4 charged",
		},
		"a recreation that does not count is not charged": {
			served(func(s *scene) { s.Owner.Served.Restarts = 1 }), "epoch 3 after recreate/1 with 3 charged",
		},
		"a recreation is followed only once": {
			served(func(s *scene) {
				s.Owner.Served.Restarts, s.Owner.Served.Counted = 1, 1
				s.Owner.Epoch.Restarts, s.Owner.Epoch.Counted = 1, 1
			}), "say InSync",
		},
		"suspending opens an epoch": {
			served(func(s *scene) { s.Owner.Wanted.Suspended, s.Owner.Version = true, 7 }), "epoch 3 after suspend/7 with 3 charged",
		},
		"a closed group is already suspended": {
			served(func(s *scene) {
				s.Owner.Wanted.Suspended, s.Stored.State.Level = true, level("C 1 1/1")
				s.Stored.State.Phase = "C"
			}), "say Suspended",
		},
		"a suspended Job is moved to the epoch": {
			served(func(s *scene) { s.Jobs[0].Generation, s.Jobs[0].Suspended = 1, true }), "move js-w-0 to 2",
		},
		"a running Job of an earlier epoch is recreated": {
			served(func(s *scene) { s.Jobs[0].Generation = 1 }), "delete js-w-0 for epoch",
		},
		"a finished Job is not": {
			served(func(s *scene) { s.Jobs[0].Generation, s.Jobs[0].Over = 1, true }), "say InSync",
		},
		"a spent budget fails it": {
			served(func(s *scene) { s.Owner.Charged = 6 }), "fail: 6 restarts, in place and by recreation, exceed maxRestarts of 5",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := deeds(c.in.decide()); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

// alone returns a settled scene with an owner that creates its pods itself.
func alone(change func(*scene)) *scene {
	return served(func(s *scene) {
		s.Owner.Served.Alone = true
		change(s)
	})
}

func TestOwnerThatCreatesItsPods(t *testing.T) {
	stale := func(s *scene) {
		s.Owner.Epoch = epoch.Record{Epoch: 2, Base: 2, Recreate: 2}
		s.Pods = s.Pods[:2]
		s.Pods[0].Generation = 1
	}
	for name, c := range map[string]struct {
		in   *scene
		want string
	}{
		"pods of an earlier epoch are deleted": {alone(stale), "delete pod p0 for epoch"},
		"terminating pods are not, but their node is checked": {
			alone(func(s *scene) { stale(s); s.Pods[0].Deleting = true }), "",
		},
		"its Job is not deleted with an epoch": {
			alone(func(s *scene) { s.Owner.Epoch.Recreate, s.Jobs[0].Generation = 2, 2 }), "say InSync",
		},
		"a spent budget fails it": {
			alone(func(s *scene) { s.Owner.Charged = 6 }), "fail: 6 restarts, in place and by recreation, exceed maxRestarts of 5",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := deeds(c.in.decide()); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

// After eight pods have been deleted, the Job controller's back-off is 10 min.
func TestAJobIsFilledOnceAfterAFullRecreation(t *testing.T) {
	for name, c := range map[string]struct {
		recreate int32
		want     int
	}{"after a full recreation": {2, 8}, "when it forms for the first time, or after a suspension": {0, 0}} {
		t.Run(name, func(t *testing.T) {
			s := alone(func(s *scene) {
				s.Owner.Epoch.Recreate, s.Owner.FormingTimeout, s.Pods, s.Jobs[0].Created = c.recreate, time.Hour, nil, now
				s.Stored.State.Level, s.Stored.Joined = level("A 0 0/0"), []int64{0}
				s.Reads.Missing, s.Reads.MissingLevel = map[int][]string{0: nil}, s.Stored.State.Level
				for index := range 8 {
					s.Reads.Missing[0] = append(s.Reads.Missing[0], fmt.Sprint("js-w-0-", index))
				}
			})
			s.answer(s.decide())
			for again, want := range []int{c.want, 0} {
				created := 0
				for _, action := range s.decide().Actions {
					if a, is := action.(CreatePod); is {
						created++
						s.memory.created.in(a.Round)[a.Slot] = replacements{created: 1, last: now, ok: true}
					}
				}
				if created != want {
					t.Errorf("plan %d creates %d pods, want %d", again, created, want)
				}
			}
		})
	}
}

func missedPod(s *scene) {
	s.Owner.Served.Pods, s.Pods = true, s.Pods[:2]
	s.Missed = []Missed{{Pod: &workload.Pod{Name: "missed"}, Why: "created without an agent"}}
}

// A group of pods without Jobs is never managed partially: before it has run, the pods with agents are deleted; afterwards, the
// pods without agents.
func TestPodsWithoutAgents(t *testing.T) {
	for name, c := range map[string]struct {
		in   *scene
		want string
	}{
		"in a forming group": {alone(func(s *scene) { missedPod(s); joining(s) }), "delete pod p0 for missed, delete pod p1 for missed"},
		"in a running group": {alone(missedPod), "delete pod missed for missed"},
		"in a group with two pods for one index": {
			alone(func(s *scene) { missedPod(s); joining(s); s.Conflict = "two pods" }), "drop",
		},
		"a conflict in a running group": {
			alone(func(s *scene) { s.Owner.Served.Pods, s.Conflict = true, "two pods" }), "say InSync",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := deeds(c.in.decide()); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

// If a worker exits with code 0 when it is stopped, its Job counts it as finished and is therefore recreated. But a Job that owns
// the group must not be recreated.
func TestOwnerIsNotDeletedToRepairARestart(t *testing.T) {
	for name, c := range map[string]struct {
		of   func(func(*scene)) *scene
		jobs int // number of Jobs read in order to be deleted
	}{"a Job of an owner": {served, 1}, "the owner itself": {alone, 0}} {
		t.Run(name, func(t *testing.T) {
			s := c.of(func(s *scene) {
				s.Stored.State, s.Stored.Joined = rounds.Fresh(level("A 2 0/1"), 1), []int64{7}
				s.Owner.Charged, s.memory.accounted = 4, s.Stored.State.Level
				s.Reads.Missing, s.Reads.MissingLevel = map[int][]string{0: {"js-w-0-3"}}, s.Stored.State.Level
				s.Pods[3].Phase = workload.Succeeded
				s.Lost = []Loss{{Pod: s.Pods[3]}}
				s.Reads.HistoryRead = true
			})
			read := 0
			for range 10 {
				p := s.decide()
				read += len(p.Need.Jobs)
				for _, a := range p.Actions {
					s.Record(&s.memory, a, Result{})
					if write, is := a.(Annotate); is && write.Recovering != nil {
						s.Owner.Annotations = map[string]string{"holdfast.dev/recovering": write.Recovering.Format()}
					}
				}
				if read > 0 || !p.Acts() {
					break
				}
			}
			if read != c.jobs {
				t.Errorf("%d Jobs are read, want %d", read, c.jobs)
			}
		})
	}
}

// The pods of such an owner are not annotated with their epoch, so it is derived from their creation time.
func TestEpochRecordsTheNewestEarlierPod(t *testing.T) {
	s := alone(func(s *scene) {
		s.Owner.Wanted.Suspended, s.Owner.Version = true, 7
		s.Pods[3].Created = now
	})
	p := s.decide()
	if len(p.Actions) != 1 {
		t.Fatalf("the plan is %s", deeds(p))
	}
	if opened := p.Actions[0].(Annotate).Epoch; opened.Epoch != 3 || opened.After != now.Unix() {
		t.Errorf("opened %+v", opened)
	}
}

// None of these rules apply to an owner whose controller opens epochs.
func TestRulesForServedOwnersIgnoreOthers(t *testing.T) {
	s := settled(func(s *scene) {
		unprepared(s)
		s.Owner.Charged = 6
		s.Owner.Wanted.Suspended = true
		s.Owner.Epoch = epoch.Record{Epoch: 2, Base: 2}
		s.Stored.State.Phase = "C"
	})
	p := s.decide()
	for _, rule := range []string{"claim", "missed", "follow", "budget", "late Jobs"} {
		if p.Rule == rule {
			t.Errorf("rule %q plans %s", rule, deeds(p))
		}
	}
}

// Whether or not the group has run yet, an event says which objects have no agents and what happens to them.
func TestEventNamesWhatHasNoAgents(t *testing.T) {
	for name, c := range map[string]struct {
		in     *scene
		reason string
		notes  []string
	}{
		"Jobs of a forming group": {
			served(func(s *scene) { joining(s); unprepared(s) }), EventMissed,
			[]string{"1 of 2 Jobs were created without agents (js-v-0)", "the whole group runs without"},
		},
		"Jobs of a running group": {
			served(unprepared), EventMissed,
			[]string{"1 of 2 Jobs were created without agents (js-v-0)", "deleting them, because the group waits"},
		},
		"pods of a forming group": {
			alone(func(s *scene) { missedPod(s); joining(s) }), EventMissedPods,
			[]string{"pod missed: created without an agent", "deleting those with agents"},
		},
		"pods of a running group": {
			alone(missedPod), EventMissedPods, []string{"pod missed: created without an agent", "deleting them, because the group waits"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := c.in.decide()
			i := slices.IndexFunc(p.Events, func(e Event) bool { return e.Reason == c.reason })
			if i < 0 {
				t.Fatalf("the events are %+v", p.Events)
			}
			for _, note := range c.notes {
				if !strings.Contains(p.Events[i].Note, note) {
					t.Errorf("the note is %q, want one with %q", p.Events[i].Note, note)
				}
			}
		})
	}
}

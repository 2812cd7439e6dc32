package simulation

import (
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

func spareScene(spares int64) Shape {
	return withSpares("scene", workers(Exec, 1, 3), spares, everything(), 1)
}

// holds returns the UID of the pod that holds the n-th slot.
func (s *scene) holds(n int) string { return s.group().holders[s.slots[n]] }

// spare returns the pod of the n-th spare.
func (s *scene) spare(n int64) *pod {
	s.t.Helper()
	p := s.podOf(s.api.current.uid, s.shape.Entries[0].stage().Spare(n))
	if p == nil {
		s.lose("spare %d has no pod", n)
	}
	return p
}

func TestSpares(t *testing.T) {
	stories := map[string]func(*testing.T){
		"L2 a group whose pod has failed runs again when a spare has joined": func(t *testing.T) {
			s := enter(t, spareScene(1))
			spare := s.spare(0)
			s.worker(1).fail()
			s.until(500*time.Millisecond, "all workers are running again", func() bool {
				g, c := s.group(), spare.living()
				return g.Phase == coordination.Running && g.Round == 1 && c != nil && c.lifted && c.slot == s.slots[1]
			})
			s.settles(time.Minute)
			s.wants(1, 1, 1, 2)
			if next := s.worker(1); !next.waits || next.living() == nil || next.living().lifted {
				s.lose("%s is not waiting as the next spare", next.uid)
			}
		},
		"a deleted pod's death opens the round, which the spare joins": func(t *testing.T) {
			s := enter(t, spareScene(1))
			spare := s.spare(0)
			s.deletePod(s.worker(1))
			s.settles(time.Minute)
			s.wants(1, 1, 1, 2)
			if s.holds(1) != spare.uid {
				s.lose("%s holds the slot", s.holds(1))
			}
		},
		"if there are more losses than spares, the remaining slots get new pods": func(t *testing.T) {
			s := enter(t, spareScene(1))
			spare := s.spare(0)
			s.worker(0).fail()
			s.worker(1).fail()
			s.settles(time.Minute)
			held := 0
			for n := range s.slots {
				if s.holds(n) == spare.uid {
					held++
				}
			}
			if held != 1 || s.group().Generation != 1 {
				s.lose("the spare holds %d slots in generation %d", held, s.group().Generation)
			}
		},
		"a second loss before the new spare is ready": func(t *testing.T) {
			s := enter(t, spareScene(1))
			s.worker(1).fail()
			s.until(time.Second, "all workers are running again", func() bool { return s.phase() == coordination.Running && s.group().Round == 1 })
			if next := s.podOf(s.api.current.uid, s.slots[1]); next != nil && next.phase == podRunning {
				s.lose("the new spare is already ready")
			}
			s.worker(2).fail()
			s.settles(time.Minute)
			s.wants(1, 2, 2, 4)
		},
		"two leaders in succession assign two slots": func(t *testing.T) {
			s := enter(t, spareScene(2))
			first, second := s.spare(0), s.spare(1)
			s.worker(1).fail()
			s.until(time.Second, "the slot is assigned", func() bool { return s.group().givenTo(s.slots[1]) == first.uid })
			before := s.leader()
			before.pause(40 * time.Second)
			s.until(30*time.Second, "another leads", func() bool { return s.leader() != nil && s.leader() != before })
			s.worker(2).fail()
			s.passes(30 * time.Second) // the first one has returned, and must not act
			s.settles(time.Minute)
			if s.holds(1) != first.uid || s.holds(2) != second.uid || s.group().Generation != 1 {
				s.lose("%s and %s hold the slots", s.holds(1), s.holds(2))
			}
		},
		"a pod on a disconnected node keeps its slot without evidence, and is fenced when the node returns": func(t *testing.T) {
			s := enter(t, spareScene(1))
			spare, old := s.spare(0), s.worker(1)
			old.node.cut = true
			s.passes(30 * time.Second)
			if s.holds(1) != old.uid || s.group().Round != 0 || old.living() == nil {
				s.lose("%s holds the slot in round %d", s.holds(1), s.group().Round)
			}
			old.forceDelete()
			s.until(5*time.Second, "the spare works in the slot", func() bool { c := spare.living(); return c != nil && c.lifted && c.slot == s.slots[1] })
			if old.living() == nil {
				s.lose("the old worker has ended before its node is connected again")
			}
			s.passes(time.Second)
			old.node.cut = false // its kubelet is slower than its agent
			stopped := func() bool { c := old.living(); return c == nil || !c.lifted }
			s.until(time.Minute, "its agent has stopped the worker", stopped)
			s.worker(0).die(1)
			s.until(time.Minute, "all workers are running again", func() bool { return s.phase() == coordination.Running && s.group().Round == 2 })
			if !stopped() || !s.truth.isFenced(old) {
				s.lose("the old worker is running in round %d", old.living().rendezvous.round)
			}
			old.terminate()
			s.settles(time.Minute)
			if s.holds(1) != spare.uid {
				s.lose("%s holds the slot", s.holds(1))
			}
		},
		"a pod whose agent cannot reach the store is not lost": func(t *testing.T) {
			s := enter(t, spareScene(1))
			old := s.worker(1)
			old.agent.link.breakSilently(2 * time.Minute)
			s.passes(3 * time.Minute)
			s.settles(time.Minute)
			s.wants(1, 0, 0, 0)
			if s.holds(1) != old.uid {
				s.lose("%s holds the slot", s.holds(1))
			}
		},
		"a spare that is assigned a slot while its Job is deleted is lost like any other pod": func(t *testing.T) {
			s := enter(t, spareScene(1))
			spare := s.spare(0)
			s.worker(1).fail()
			s.until(time.Second, "the slot is assigned", func() bool { return s.group().givenTo(s.slots[1]) == spare.uid })
			if spare.given != "" {
				s.lose("it is annotated already")
			}
			s.api.spec("user", func(js *jobSet) { js.spares = -1 })
			spare.job.resize(0) // the controller has read the spare before it was annotated
			s.settles(2 * time.Minute)
			if s.holds(1) != s.worker(1).uid || s.group().Generation != 1 {
				s.lose("%s holds the slot", s.holds(1))
			}
		},
		"a spare that its Job is about to delete is not assigned a slot": func(t *testing.T) {
			s := enter(t, spareScene(2))
			first, second := s.spare(0), s.spare(1)
			first.job.kicked = true // the Job controller is slow
			s.api.spec("user", func(js *jobSet) { js.spares = -1 })
			s.until(time.Second, "the Job has one seat", func() bool { return len(first.job.seats) == 1 })
			s.worker(1).fail()
			s.worker(2).fail()
			s.passes(2 * time.Second)
			if g := s.group(); g.givenTo(s.slots[1]) == second.uid || g.givenTo(s.slots[2]) == second.uid {
				s.lose("%s was assigned a slot", second.uid)
			}
			first.job.kicked = false
			first.job.kick()
			s.settles(time.Minute)
			if s.holds(1) != first.uid && s.holds(2) != first.uid || s.holds(1) == second.uid || s.holds(2) == second.uid {
				s.lose("%s and %s hold the slots", s.holds(1), s.holds(2))
			}
		},
		"when a spare is lost, its slot is assigned to the slot's own pod": func(t *testing.T) {
			s := enter(t, spareScene(1))
			spare := s.spare(0)
			s.worker(1).fail()
			s.settles(time.Minute)
			own := s.worker(1)
			spare.fail()
			s.settles(2 * time.Minute)
			if s.holds(1) != own.uid {
				s.lose("%s holds the slot, not %s", s.holds(1), own.uid)
			}
		},
		"assigned slots are restored in an empty store, and no worker is stopped": func(t *testing.T) {
			s := enter(t, spareScene(1))
			spare := s.spare(0)
			s.worker(1).fail()
			s.settles(time.Minute)
			s.faults(Fault{Kind: StoreWiped, Count: 10})
			s.passes(5 * time.Second)
			s.settles(time.Minute)
			s.wants(1, 1, 1, 2)
			if s.holds(1) != spare.uid {
				s.lose("%s holds the slot", s.holds(1))
			}
		},
		"if a leader crashes before it has annotated the spare, the next leader does so": func(t *testing.T) {
			s := enter(t, spareScene(1))
			spare := s.spare(0)
			s.worker(1).fail()
			s.until(time.Second, "the slot is assigned", func() bool { return s.group().givenTo(s.slots[1]) == spare.uid })
			s.leader().crash()
			if spare.given != "" {
				s.lose("it is annotated already")
			}
			s.settles(2 * time.Minute)
			if spare.given != s.slots[1] {
				s.lose("its annotation is %q", spare.given)
			}
		},
		"a pod that fails right after its Job was recreated": func(t *testing.T) {
			s := enter(t, spareScene(1))
			s.faults(Fault{Kind: JobRecreated, Target: 0})
			s.until(time.Minute, "the Job has a pod again", func() bool {
				p := s.podOf(s.api.current.uid, s.slots[2])
				return p != nil && !p.lost() && p.created > 0 && p.living() != nil
			})
			s.worker(2).fail()
			s.settles(5 * time.Minute)
		},
		"when all workers have finished, all pods succeed": func(t *testing.T) {
			s := enter(t, spareScene(1))
			s.worker(1).fail()
			s.settles(time.Minute)
			for range s.slots {
				s.finishOne()
				s.passes(2 * time.Second)
			}
			s.until(time.Minute, "the JobSet has completed", func() bool { return s.api.current.state == completed })
			s.settles(time.Minute)
		},
	}
	for name, story := range stories {
		t.Run(name, story)
	}
}

package simulation

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// The 26 known defects of the first prototype. Each is replayed as the scene in which it occurred, with the correct outcome.
func TestPrototypeDefects(t *testing.T) {
	stories := map[string]func(*testing.T){
		"D1 a second failure during a restart causes no recreation": func(t *testing.T) {
			s := enter(t, quickRestarts())
			s.worker(0).die(1)
			s.until(time.Second, "restarting", s.at(coordination.Restarting))
			s.worker(1).die(1) // another worker, still in the old round: the same restart handles it
			s.until(3*time.Second, "the first worker has restarted", func() bool { return s.worker(0).births == 2 })
			s.passes(20 * time.Millisecond)
			s.worker(0).die(1) // again, in the new round: its peers may hang, so another round follows
			s.settles(30 * time.Second)
			s.wants(1, 2, 2, s.truth.orders)
		},
		"D2 a failure while the group is forming causes no recreation": func(t *testing.T) {
			s := enterForming(t, plain())
			for _, p := range s.pods {
				p.die(1)
			}
			s.settles(time.Minute)
			s.wants(1, 1, 1, s.truth.orders)
		},
		"D3 a late broadcast changes nothing": func(t *testing.T) {
			s := enter(t, plain())
			old := s.group().Level
			s.worker(0).die(1)
			s.settles(30 * time.Second)
			orders := s.truth.orders
			for range 3 {
				s.store.first.publish(s.api.current.uid, rounds.Observation{Level: old})
			}
			s.passes(time.Minute)
			s.wants(1, 1, 1, orders)
		},
		"D4 a repeated order stops no worker a second time": func(t *testing.T) {
			s := enter(t, plain())
			s.worker(0).die(1)
			s.until(time.Second, "restarting", s.at(coordination.Restarting))
			order := s.group().Level
			for range 40 {
				s.store.first.publish(s.api.current.uid, rounds.Observation{Level: order})
				s.passes(50 * time.Millisecond)
			}
			s.settles(30 * time.Second)
			s.wants(1, 1, 1, 2)
		},
		"D5 an order for a dead worker does not stop the next one": func(t *testing.T) {
			s := enter(t, plain())
			s.faults(Fault{Kind: BlindRuntime, Target: 1, For: 20 * time.Second})
			s.worker(1).die(1) // its agent will notice in seconds
			s.worker(0).die(1)
			s.settles(time.Minute)
			if births := s.worker(1).births; births != 2 {
				s.lose("the worker was started %d times, want 2", births)
			}
			s.wants(1, 1, 1, s.truth.orders)
		},
		"D6 a lost broadcast delays a restart at most until the next read": func(t *testing.T) {
			s := enter(t, plain())
			s.faults(Fault{Kind: AllDeaf, For: 500 * time.Millisecond})
			s.worker(0).die(1)
			s.settles(resyncMost + 15*time.Second) // L3, plus the worker's own restart
			s.wants(1, 1, 1, 2)
		},
		"D7 an agent that crashes during a restart completes it": func(t *testing.T) {
			s := enter(t, plain())
			s.worker(0).die(1)
			s.until(time.Second, "restarting", s.at(coordination.Restarting))
			for _, p := range s.pods {
				p.agent.crash()
			}
			s.settles(45 * time.Second)
			s.wants(1, 1, 1, 2)
		},
		"D8 a worker that exits 0 when it is stopped runs again": func(t *testing.T) {
			s := enter(t, plain())
			for _, p := range s.pods {
				p.polite = true
			}
			s.worker(0).die(1)
			s.settles(30 * time.Second)
			s.wants(1, 1, 1, 2)
		},
		"D8 finished workers are not stopped": func(t *testing.T) {
			s := enter(t, plain())
			for n := range s.slots {
				s.faults(Fault{Kind: WorkerFinishes, Target: 0})
				s.passes(time.Duration(n+1) * time.Second)
			}
			s.until(time.Minute, "the JobSet has completed", func() bool { return s.api.current.state == completed })
			s.settles(time.Minute)
			if s.truth.orders != 0 {
				s.lose("%d orders", s.truth.orders)
			}
		},
		"D9 an empty store is restored, and no worker is stopped": func(t *testing.T) {
			s := enter(t, plain())
			s.faults(Fault{Kind: StoreWiped, Count: 5})
			s.passes(time.Second)
			s.settles(resyncMost + 10*time.Second) // L4
			s.wants(1, 0, 0, 0)
			s.worker(0).die(1) // in-place restarts still work
			s.settles(30 * time.Second)
			s.wants(1, 1, 1, 2)
		},
		"D10 without the store, the workers of new pods start, and no worker is stopped": func(t *testing.T) {
			s := enter(t, plain())
			s.faults(Fault{Kind: StoreDown, For: 2 * time.Minute})
			for _, p := range s.pods {
				p.agent.crash()
			}
			old := s.worker(2)
			s.deletePod(old)
			s.until(time.Minute, "the new worker runs", func() bool {
				p := s.podOf(s.api.current.uid, s.slots[2])
				return p != nil && p != old && p.living() != nil
			})
			s.settles(5 * time.Minute)
			s.wants(1, 1, 1, 2)
		},
		"D11 a leader that has lost its Lease without noticing is rejected": func(t *testing.T) {
			s := enter(t, plain())
			old := s.leader()
			old.pause(time.Minute)
			s.until(time.Minute, "another leader is elected", func() bool { l := s.leader(); return l != nil && l != old })
			s.worker(0).fail() // makes the new leader call the store, with its token
			s.settles(2 * time.Minute)
			v := s.group()
			_, err := s.store.first.release(s.api.current.uid, old.token, rounds.Slot{Name: s.slots[0], Pod: v.holders[s.slots[0]]}, rounds.LostPod(s.slots[0], coordination.Place{}), lostPod, rounds.Slot{})
			if !errors.Is(err, coordination.ErrStaleLeader) {
				s.lose("the old leader gets %v", err)
			}
			s.passes(time.Minute) // it resumes
			s.wants(1, 1, 1, 2)
		},
		"D12 a leader that restarts leads again": func(t *testing.T) {
			s := enter(t, plain())
			s.leader().crash()
			s.passes(100 * time.Millisecond)
			s.until(20*time.Second, "somebody leads", func() bool { return s.leader() != nil })
		},
		"D13 a leader that takes longer than its Lease counts once": func(t *testing.T) {
			s := enter(t, plain())
			s.worker(0).die(1)
			s.until(time.Second, "restarting", s.at(coordination.Restarting))
			s.leader().pause(40 * time.Second) // between the read and the charge
			s.settles(2 * time.Minute)
			s.wants(1, 1, 1, 2)
		},
		"D14 an interrupted full recreation is completed, and charged once": func(t *testing.T) {
			s := enter(t, plain())
			s.faults(Fault{Kind: Unkillable, Target: 1, For: time.Minute})
			s.worker(0).die(1)
			s.until(2*time.Minute, "the next epoch is written", func() bool { return s.api.current.epoch.Epoch == 2 })
			s.leader().crash() // before it deletes anything
			s.settles(6 * time.Minute)
			s.wants(2, 0, 2, s.truth.orders)
		},
		"D15 an agent of the previous epoch does not affect the next": func(t *testing.T) {
			s := enter(t, plain())
			old, before := s.worker(0), s.group().Level
			s.suspendAndResume(5 * time.Second)
			s.settles(time.Minute)
			level := s.group().Level
			late := rounds.Member{Slot: old.asSlot(), ID: "late", Attempt: 9, Ran: true, Past: rounds.Past{Kind: rounds.PastRan}}
			r, err := s.store.first.call(old, rounds.Join(before.Incarnation, 0, before.Round, 1, late))
			if r.text != string(rounds.AnswerOver) || err != nil || s.group().Level != level {
				s.lose("the reply is %q, %v; the group is %v", r.text, err, s.group().Level)
			}
			s.wants(2, 0, 0, 0)
		},
		"D16 a zombie does not affect its slot": func(t *testing.T) {
			s := enter(t, plain())
			zombie := s.worker(1)
			zombie.node.cut = true
			zombie.forceDelete()
			s.settles(time.Minute)
			level := s.group().Level
			zombie.node.cut = false // it is connected again, but its kubelet has not noticed yet
			if zombie.over {
				s.lose("the zombie is gone, so this scene tests nothing")
			}
			s.passes(time.Minute)
			if s.group().Level != level {
				s.lose("the group is %v, want %v", s.group().Level, level)
			}
		},
		"D17 a new pod whose agent crashes before it saves its file counts once": func(t *testing.T) {
			s := enter(t, plain())
			s.deletePod(s.worker(1))
			s.until(time.Minute, "the new worker runs", func() bool {
				p := s.podOf(s.api.current.uid, s.slots[1])
				return p != nil && p.created > s.pods[0].created && p.living() != nil
			})
			s.worker(1).agent.fuse = 2 // it may join, but not save
			s.settles(time.Minute)
			s.wants(1, 1, 1, s.truth.orders)
		},
		"D18 agents that are waiting for a recreation do not overload the store": func(t *testing.T) {
			s := enter(t, plain())
			s.faults(Fault{Kind: LeadersGone, For: 10 * time.Minute})
			w := s.worker(0)
			if _, err := s.store.first.call(w, rounds.Ask(s.group().Level.Incarnation, 0, w.asSlot(), "bad-gpu")); err != nil {
				t.Fatal(err)
			}
			s.passes(time.Minute)
			calls := s.store.reads + s.store.writes
			s.passes(5 * time.Minute)
			if calls = s.store.reads + s.store.writes - calls; calls > 3*5*60/5 {
				s.lose("%d calls by three agents in five minutes", calls)
			}
		},
		"D19 an invalid report deletes nothing": func(t *testing.T) {
			s := enter(t, plain())
			level, w := s.group().Level, s.worker(0)
			nonsense := rounds.Member{Slot: w.asSlot(), ID: w.living().id, Attempt: -1}
			if _, err := s.store.first.call(w, rounds.Join(level.Incarnation, 0, -999, 1, nonsense)); !errors.Is(err, coordination.ErrArgument) {
				s.lose("the call returned %v", err)
			}
			s.passes(time.Minute)
			if s.group().Level != level || len(s.jobs) != 1 || s.jobs[0].deleting {
				s.lose("the group is %v", s.group().Level)
			}
		},
		"D20 a suspended JobSet resumes without a charge": func(t *testing.T) {
			s := enter(t, plain())
			s.worker(0).die(1)
			s.settles(time.Minute)
			s.suspendAndResume(time.Minute)
			s.settles(2 * time.Minute)
			s.wants(2, 0, 1, 2)
			s.worker(0).die(1)
			s.settles(time.Minute)
			s.wants(2, 1, 2, 4)
		},
		// D21: replicatedJobs without an agent or without a parallelism never reach the protocol. TestStages in
		// jobset-controller/internal/inplace checks that groups count only pods with an agent. This scene checks that the group has
		// only its own stages.
		"D21 the group waits only for its own slots": func(t *testing.T) {
			s := enter(t, shape("scene", mixed(), everything(), 1))
			if g := s.group(); g.Size != 4 || !slices.Equal(g.Stages, stagesOf(s.shape.Entries)) {
				s.lose("%d slots in %v", g.Size, g.Stages)
			}
		},
		"D22 after N restarts, failure N+1 stops no worker and fails the JobSet": func(t *testing.T) {
			shape := quickRestarts()
			shape.Budget = 2
			s := enter(t, shape)
			for range 2 {
				s.worker(0).die(1)
				s.settles(time.Minute)
			}
			orders := s.truth.orders
			s.worker(0).die(1)
			s.until(time.Minute, "the JobSet has failed", func() bool { return s.api.current.state == failed })
			if s.api.current.charged != 3 || s.truth.orders != orders {
				s.lose("%d charged, %d orders after %d", s.api.current.charged, s.truth.orders, orders)
			}
		},
		"D23 a clock jump ends no round early": func(t *testing.T) {
			s := enter(t, plain())
			s.worker(0).die(1)
			s.until(time.Second, "restarting", s.at(coordination.Restarting))
			s.store.skew = -2 * time.Hour
			s.settles(30 * time.Second)
			s.store.skew = 2 * time.Hour
			s.worker(0).die(1)
			s.settles(45 * time.Second)
			s.wants(1, 2, 2, 4)
		},
		// D24: the number of connections depends on the client library and the chart. docs/in-place-restart.md documents the
		// required maxclients, and the scale benchmark measures it. This scene checks that an agent has only one subscription at a
		// time.
		"D24 an agent has one subscription, however often the connection was lost": func(t *testing.T) {
			s := enter(t, plain())
			for range 5 {
				s.faults(Fault{Kind: StoreDown, For: time.Second})
				s.passes(10 * time.Second)
			}
			if n := len(s.store.subscribers); n != len(s.slots)+1 {
				s.lose("%d subscriptions for %d agents and a leader", n, len(s.slots))
			}
		},
		"D25 CrashLoopBackOff delays the second restart and recreates nothing": func(t *testing.T) {
			s := enter(t, plain())
			for range 2 {
				s.worker(0).die(1)
				s.settles(30 * time.Second)
			}
			s.wants(1, 2, 2, 4)
		},
		"D25 the kubelet does not back off after records are removed": func(t *testing.T) {
			s := enter(t, quickRestarts())
			for range 4 {
				s.worker(0).die(1) // the failed worker is delayed by the back-off
				s.worker(0).loop = crashLoop{}
				s.settles(6 * time.Second)
			}
			s.wants(1, 4, 4, 8)
		},
		// D26: the worker's container and the probe port are agent settings; see TestInvalidSettings in agent/internal/config and
		// TestObserveDistinguishesInstances in agent/internal/cri. This scene checks that several slots on one node do not affect
		// each other.
		"D26 workers that share a node are distinguished": func(t *testing.T) {
			s := enter(t, plain())
			for _, p := range s.pods {
				p.node = s.nodes[0]
			}
			s.worker(2).die(1)
			s.settles(30 * time.Second)
			s.wants(1, 1, 1, 2)
		},
	}
	for name, story := range stories {
		t.Run(name, story)
	}
}

// quickRestarts has no back-off for workers that are ordered to restart.
func quickRestarts() Shape {
	s := plain()
	s.RemoveStopped = true
	return s
}

func (s *scene) suspendAndResume(d time.Duration) {
	s.api.spec("queue", func(js *jobSet) { js.suspended = true })
	s.passes(d)
	s.api.spec("queue", func(js *jobSet) { js.suspended = false })
	s.passes(time.Second)
}

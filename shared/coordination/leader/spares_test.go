package leader

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// withSpares returns a settled scene with two spares, s0 and s1, on their own nodes.
func withSpares(change func(*scene)) *scene {
	return settled(func(s *scene) {
		s.Jobs = append(s.Jobs, &workload.Job{Name: "js-w-spares", UID: "spares", Stage: "js-w", Generation: 2, Current: true, Findable: true, MadePods: true, Spares: true, Indexes: 2, Pods: 2})
		for n := range 2 {
			spare := pod(n)
			spare.Name, spare.UID, spare.Slot, spare.Job, spare.Node = fmt.Sprint("s", n), fmt.Sprint("spare", n), fmt.Sprint("js-w-spares-", n), "spares", fmt.Sprint("n", n)
			s.Pods = append(s.Pods, spare)
		}
		s.Reads.HistoryRead = true
		if change != nil {
			change(s)
		}
	})
}

// loses removes the pod with the given index, and reports the loss through the watch.
func loses(index int) func(*scene) {
	return func(s *scene) {
		i := slices.IndexFunc(s.Pods, func(p *workload.Pod) bool { return p.UID == fmt.Sprint("uid", index) })
		s.Lost = append(s.Lost, Loss{Pod: s.Pods[i], Gap: true})
		s.Pods = slices.Delete(s.Pods, i, i+1)
	}
}

// gone removes the pod with the given index, which the watch misses, and sets the holder of its slot. The API server has no pods
// for the slot.
func gone(index int, holder string) func(*scene) {
	return func(s *scene) {
		loses(index)(s)
		s.Lost = nil
		slot := fmt.Sprint("js-w-0-", index)
		s.Reads.Holders = map[string]string{slot: holder}
		s.Reads.Slots = map[string]SlotRead{slot: {At: now}}
		s.Reads.Jobs = map[string]*workload.Job{"js-w-0": s.Jobs[0]}
	}
}

// gave adds an assigned slot to the stored group.
func gave(index int, pod string) func(*scene) {
	return func(s *scene) {
		s.Stored.Config.Given = append(s.Stored.Config.Given, rounds.Seat{Slot: rounds.Slot{Name: fmt.Sprint("js-w-0-", index), Pod: pod}})
	}
}

// one changes the pod with the given UID.
func one(uid string, change func(*workload.Pod)) func(*scene) {
	return func(s *scene) {
		for _, p := range s.Pods {
			if p.UID == uid {
				change(p)
			}
		}
	}
}

// spares changes the spare Job.
func spares(change func(*workload.Job)) func(*scene) {
	return func(s *scene) { change(s.Jobs[len(s.Jobs)-1]) }
}

func all(changes ...func(*scene)) func(*scene) {
	return func(s *scene) {
		for _, change := range changes {
			change(s)
		}
	}
}

// spareDeeds describes what a plan does about slots and pods, and which reads it requests.
func spareDeeds(p Plan) string {
	var words []string
	for _, action := range p.Actions {
		switch a := action.(type) {
		case Release:
			text := "release " + a.Pod + " of " + a.Name
			if a.Heir != (rounds.Slot{}) {
				text += " for " + a.Heir.Pod
			}
			words = append(words, text)
		case AnnotatePod:
			words = append(words, "annotate "+a.Pod.UID+" with "+a.Slot)
		case DeletePod:
			words = append(words, "delete "+a.Pod.UID+" for "+string(a.For))
		case CreatePod:
			words = append(words, fmt.Sprintf("create %s waits=%t", a.Slot, a.Waits))
		}
	}
	for _, slot := range p.Need.Holders {
		words = append(words, "who holds "+slot)
	}
	for _, slot := range p.Need.Slots {
		words = append(words, "pods of "+slot.Slot)
	}
	for _, pod := range p.Need.Pods {
		words = append(words, "pod "+pod.UID)
	}
	return strings.Join(words, ", ")
}

func TestSlotsAreGivenToSpares(t *testing.T) {
	annotated := one("spare0", func(p *workload.Pod) { p.Given = "js-w-0-3" })
	working := all(gave(3, "spare0"), annotated, loses(3), func(s *scene) { s.Lost = nil })
	replaced := func(s *scene) { // the slot's own new pod is waiting
		next := pod(3)
		next.Name, next.UID, next.Created = "r3", "next3", now
		s.Pods = append(s.Pods, next)
	}
	lost := func(s *scene) {
		i := slices.IndexFunc(s.Pods, func(p *workload.Pod) bool { return p.UID == "spare0" })
		s.Lost = append(s.Lost, Loss{Pod: s.Pods[i], Gap: true})
		s.Pods = slices.Delete(s.Pods, i, i+1)
	}
	for name, c := range map[string]struct {
		in   *scene
		want string
	}{
		"nothing is lost": {withSpares(nil), ""},
		"a lost pod's slot goes to a spare in the call that fences it": {withSpares(loses(3)), "release uid3 of js-w-0-3 for spare0"},
		"two lost pods' slots go to two spares": {
			withSpares(all(loses(3), loses(5))), "release uid3 of js-w-0-3 for spare0, release uid5 of js-w-0-5 for spare1",
		},
		"the third slot waits for its own pod": {
			withSpares(all(loses(3), loses(5), loses(6))),
			"release uid3 of js-w-0-3 for spare0, release uid5 of js-w-0-5 for spare1, release uid6 of js-w-0-6",
		},
		"a spare on the node of the lost pod gets no slot": {
			withSpares(all(one("spare0", func(p *workload.Pod) { p.Node = "n" }), loses(3))), "release uid3 of js-w-0-3 for spare1",
		},
		"nor does a terminating spare": {
			withSpares(all(one("spare0", func(p *workload.Pod) { p.Deleting = true }), loses(3))), "release uid3 of js-w-0-3 for spare1",
		},
		"nor does a spare of an earlier epoch": {
			withSpares(all(one("spare0", func(p *workload.Pod) { p.Generation = 1 }), loses(3))), "release uid3 of js-w-0-3 for spare1",
		},
		"nor does a fenced spare": {
			withSpares(all(func(s *scene) { s.Stored.Config.Fenced = []string{"spare0"} }, loses(3))), "release uid3 of js-w-0-3 for spare1",
		},
		"nor does a spare whose container is not running": {
			withSpares(all(one("spare0", func(p *workload.Pod) { p.Containers = []workload.Container{{Waiting: true}} }), loses(3))), "release uid3 of js-w-0-3 for spare1",
		},
		"nor does a spare that its Job is about to delete, because fewer are wanted": {
			withSpares(all(spares(func(j *workload.Job) { j.Indexes, j.Pods = 1, 1 }), loses(3), loses(5))), "release uid3 of js-w-0-3 for spare0, release uid5 of js-w-0-5",
		},
		"nor if no spares are wanted":      {withSpares(all(spares(func(j *workload.Job) { j.Deleting = true }), loses(3))), "release uid3 of js-w-0-3"},
		"nor if its Job is suspended":      {withSpares(all(spares(func(j *workload.Job) { j.Suspended = true }), loses(3))), "release uid3 of js-w-0-3"},
		"nor if its Job is gone":           {withSpares(all(func(s *scene) { s.Jobs = s.Jobs[:1] }, loses(3))), "release uid3 of js-w-0-3"},
		"nor does a spare that has a slot": {withSpares(all(working, loses(5))), "release uid5 of js-w-0-5 for spare1"},
		"a slot whose new pod has no node goes to a spare": {
			withSpares(all(gone(3, ""), func(s *scene) {
				next := pod(3)
				next.Name, next.UID, next.Phase, next.Node, next.Created = "r3", "next3", workload.Pending, "", now
				s.Pods = append(s.Pods, next)
				s.Reads.Slots["js-w-0-3"] = SlotRead{At: now, Pods: []*workload.Pod{next}}
				s.memory.holdersKnown = now
			})), "release  of js-w-0-3 for spare0",
		},
		"a slot with another live pod is not assigned": {
			withSpares(all(func(s *scene) { s.Pods = append(s.Pods, pod(3)); s.Pods[len(s.Pods)-1].UID = "twin" }, loses(3))), "release uid3 of js-w-0-3",
		},
		"without a barrier, no slot is assigned": {
			withSpares(all(loses(3), func(s *scene) { s.Owner.Wanted.Barrier = false })), "release uid3 of js-w-0-3",
		},
		"if a pod was lost while there was no leader, the store is queried for the holder": {
			withSpares(all(gone(3, ""), func(s *scene) { s.Reads.Holders, s.memory.holdersKnown = nil, now })), "who holds js-w-0-3",
		},
		"and then it goes to a spare": {withSpares(all(gone(3, "uid3"), func(s *scene) { s.memory.holdersKnown = now })), "release uid3 of js-w-0-3 for spare0"},
		"unless the API server has a pod of the slot": {
			withSpares(all(gone(3, "uid3"), func(s *scene) {
				s.memory.holdersKnown = now
				s.Reads.Slots["js-w-0-3"] = SlotRead{At: now, Pods: []*workload.Pod{pod(3)}}
			})), "",
		},
		"a pod is annotated with its assigned slot": {withSpares(all(loses(3), func(s *scene) { s.Lost = nil }, gave(3, "spare0"))), "annotate spare0 with js-w-0-3"},
		"the slot of a lost spare goes to the slot's own pod": {
			withSpares(all(working, replaced, lost)), "release spare0 of js-w-0-3 for next3",
		},
		"otherwise to another spare": {withSpares(all(working, lost)), "release spare0 of js-w-0-3 for spare1"},
		"even on the same node, if there is no other": {
			withSpares(all(working, one("spare0", func(p *workload.Pod) { p.Phase, p.Node = workload.Failed, "n1" }), func(s *scene) {
				s.Reads.Holders = map[string]string{"js-w-0-3": "spare0"}
			})), "release spare0 of js-w-0-3 for spare1",
		},
		"a waiting spare is lost": {withSpares(lost), ""},
		"the leader creates only the first new pod of an assigned slot": {
			withSpares(all(working, func(s *scene) {
				s.Reads.Slots, s.Reads.Jobs = map[string]SlotRead{"js-w-0-3": {At: now}}, map[string]*workload.Job{"js-w-0": s.Jobs[0]}
				s.memory.created = roundPods{Round{s.Stored.State.Level.Generation, s.Stored.State.Level.Round}, map[string]replacements{"js-w-0-3": {created: 1, last: now.Add(-time.Minute), ok: true}}}
			})), "",
		},
		"unless its creation has failed": {
			withSpares(all(working, func(s *scene) {
				s.Reads.Slots, s.Reads.Jobs = map[string]SlotRead{"js-w-0-3": {At: now}}, map[string]*workload.Job{"js-w-0": s.Jobs[0]}
				s.memory.created = roundPods{Round{s.Stored.State.Level.Generation, s.Stored.State.Level.Round}, map[string]replacements{"js-w-0-3": {created: 1, last: now.Add(-time.Minute)}}}
			})), "create js-w-0-3 waits=true",
		},
		"the new pod of an assigned slot waits": {
			withSpares(all(working, func(s *scene) {
				s.Reads.Slots, s.Reads.Jobs = map[string]SlotRead{"js-w-0-3": {At: now}}, map[string]*workload.Job{"js-w-0": s.Jobs[0]}
			})), "create js-w-0-3 waits=true",
		},
		"if the store has lost the assignment, it is queried for the holder": {
			withSpares(all(working, func(s *scene) { s.Stored.Config.Given = nil })), "who holds js-w-0-3",
		},
		"and the slot is assigned again": {
			withSpares(all(working, func(s *scene) { s.Stored.Config.Given, s.Reads.Holders = nil, map[string]string{"js-w-0-3": ""} })),
			"release  of js-w-0-3 for spare0",
		},
		"also if the store has the previous pod": {
			withSpares(all(working, func(s *scene) {
				s.Stored.Config.Given, s.Reads.Holders = []rounds.Seat{{Slot: rounds.Slot{Name: "js-w-0-3", Pod: "gone"}}}, map[string]string{"js-w-0-3": "gone"}
			})), "release gone of js-w-0-3 for spare0",
		},
		"if another pod has taken the slot in the meantime, the spare is fenced": {
			withSpares(all(working, replaced, func(s *scene) {
				s.Stored.Config.Given, s.Reads.Holders = nil, map[string]string{"js-w-0-3": "next3"}
				s.Reads.Pods = map[string]*workload.Pod{"s0": s.Pods[slices.IndexFunc(s.Pods, func(p *workload.Pod) bool { return p.UID == "spare0" })]}
			})), "release spare0 of js-w-0-3",
		},
		"and deleted": {
			withSpares(all(working, replaced, func(s *scene) {
				s.Stored.Config.Given = []rounds.Seat{{Slot: rounds.Slot{Name: "js-w-0-3", Pod: "next3"}}}
				s.Stored.Config.Fenced = []string{"spare0"}
				s.Reads.Pods = map[string]*workload.Pod{"s0": s.Pods[slices.IndexFunc(s.Pods, func(p *workload.Pod) bool { return p.UID == "spare0" })]}
			}, one("next3", func(p *workload.Pod) { p.Given = "js-w-0-3" }))), "delete spare0 for fence",
		},
		"a spare whose slot was removed is deleted": {
			withSpares(all(gave(9, "spare0"), one("spare0", func(p *workload.Pod) { p.Given = "js-w-0-9" }), func(s *scene) {
				s.Reads.Pods = map[string]*workload.Pod{"s0": s.Pods[slices.IndexFunc(s.Pods, func(p *workload.Pod) bool { return p.UID == "spare0" })]}
			})), "delete spare0 for fence",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := spareDeeds(Decide(&c.in.Observation, &c.in.memory, now)); got != c.want {
				t.Errorf("does   %s\nwanted %s", got, c.want)
			}
		})
	}
}

// If the store has lost the group, it is opened with the assignments in the pods' annotations. A pod created after the slot's
// pods are read and before its holder is read must not appear to be gone.
func TestPodsAreReadAfterTheHolder(t *testing.T) {
	r := Reads{Slots: map[string]SlotRead{"js-w-0-3": {}, "js-w-0-4": {}}}
	r.SetHolder("js-w-0-3", "new")
	if _, known := r.Slots["js-w-0-3"]; known || r.Holders["js-w-0-3"] != "new" {
		t.Errorf("%+v", r)
	}
	if _, known := r.Slots["js-w-0-4"]; !known {
		t.Error("the pods of another slot must be read again")
	}
}

func TestALostGroupKeepsWhatWasGiven(t *testing.T) {
	s := withSpares(all(one("spare0", func(p *workload.Pod) { p.Given = "js-w-0-3" }), func(s *scene) { s.Stored = nil }))
	p := Decide(&s.Observation, &s.memory, now)
	if len(p.Actions) != 1 {
		t.Fatalf("%+v", p)
	}
	if got := fmt.Sprint(p.Actions[0].(WriteGroup).Config.Given); got != "[{{js-w-0-3 spare0} js-w-spares-0}]" {
		t.Errorf("given: %s", got)
	}
}

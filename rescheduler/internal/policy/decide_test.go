package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func row(name string) signals.Row {
	table := signals.Default()
	i := slices.IndexFunc(table, func(r signals.Row) bool { return r.Name == name })
	if i < 0 {
		panic("there is no row " + name)
	}
	return table[i]
}

// facts returns the facts about a pod of a Deployment with 3 retries that has been in an OOM loop on node a for a long time, in a cluster
// with another node.
func facts(signal string, changes ...func(*Facts)) Facts {
	f := Facts{
		Now:      noon,
		Match:    signals.Match{Row: row(signal), Reason: signal, Since: noon.Add(-20 * time.Minute), Down: true},
		Pod:      Pod{UID: "uid-p", Created: noon.Add(-time.Hour)},
		Workload: Workload{Name: "Deployment w", Retries: 3},
		Node:     Node{Name: "a", UID: "uid-a", Others: true},
		Config:   &settings.Rescheduling{GroupSettle: metav1.Duration{Duration: 2 * time.Minute}},
	}
	for _, change := range changes {
		change(&f)
	}
	return f
}

func failedNow(f *Facts)       { f.Pod.Failed, f.Match.Since = true, f.Now }
func bare(f *Facts)            { f.Pod.Bare = true }
func inGroup(f *Facts)         { f.Pod.Group = "g" }
func usedUp(f *Facts)          { f.Workload.Memory.Exhausted = true }
func times(n int) func(*Facts) { return func(f *Facts) { f.Workload.Memory.Times = n } }

// remembered adds failures of other pods on the given nodes to the history.
func remembered(class, slot string, nodes ...string) func(*Facts) {
	return func(f *Facts) {
		for _, node := range nodes {
			f.Workload.Memory, _ = f.Workload.Memory.Learn(memory.Failure{
				Node: node, NodeUID: "uid-" + node, Class: class, Slot: slot, Pod: "other-" + node,
				Created: noon.Add(-2 * time.Hour), At: noon.Add(-5 * time.Minute), TTL: time.Hour,
			}, noon.Add(-5*time.Minute))
		}
	}
}

// siblings sets the nodes on which siblings are failing, and those on which they are healthy.
func siblings(failing, well []string) func(*Facts) {
	set := func(nodes []string) map[string]bool {
		all := map[string]bool{}
		for _, node := range nodes {
			all[node] = true
		}
		return all
	}
	return func(f *Facts) { f.Siblings = Siblings{Failing: set(failing), Well: set(well)} }
}

// moved adds moves of a slot to the history, with an OOM loop as the reason.
func moved(slot string, nodes ...string) func(*Facts) {
	return func(f *Facts) {
		for _, node := range nodes {
			f.Workload.Memory = f.Workload.Memory.Charge(memory.Move{Slot: slot, Node: node, Class: "OOMKilled", At: noon.Add(-time.Hour)})
		}
	}
}

func TestDecide(t *testing.T) {
	for name, c := range map[string]struct {
		facts   Facts
		act     Act
		reason  string
		message string
	}{
		"an OOM loop is moved": {facts("OOMKilled"), Evict, Moved, "move 1 of 3"},
		"a rejected pod is replaced by its controller": {
			facts("AdmissionError", failedNow), Record, Excluded, "replacements avoid the node for 15m0s"},
		"a pod without a sandbox is moved":  {facts("SandboxNotReady"), Evict, Moved, "SandboxNotReady on node a"},
		"the last move is made":             {facts("OOMKilled", times(2)), Evict, Moved, "move 3 of 3"},
		"after the last move the pod stays": {facts("OOMKilled", times(3)), Exhaust, Exhausted, "all 3 moves are used up"},
		"a workload with 0 retries is never moved": {
			facts("OOMKilled", func(f *Facts) { f.Workload.Retries = 0 }), Exhaust, Exhausted, "all 0 moves"},
		"used up moves stay used up": {facts("OOMKilled", times(3), usedUp), Leave, Exhausted, "all 3 moves"},
		"raising the retries allows more moves": {
			facts("OOMKilled", times(3), usedUp, func(f *Facts) { f.Workload.Retries = 5 }), Evict, Moved, "move 4 of 5"},
		"an exceeded deadline moves no pod": {facts("DeadlineExceeded", failedNow), Leave, NeverMoved, "not caused by node a"},
		"an invalid spec moves no pod":      {facts("ConfigError"), Leave, NeverMoved, "the pod is not moved"},
		"a new signal waits":                {facts("SandboxNotReady", func(f *Facts) { f.Match.Since = noon.Add(-time.Minute) }), Wait, TooEarly, ""},
		"a loop whose container is running is not moved": {
			facts("OOMKilled", func(f *Facts) { f.Match.Down = false }), Leave, TooEarly, ""},
		"a critical pod is not moved": {
			facts("OOMKilled", func(f *Facts) { f.Pod.Protected = "its priority class is x" }), Leave, NotMovable, "priority class"},
		"a pod that is recovering in place waits for the deadline": {
			facts("OOMKilled", func(f *Facts) { f.Workload.Recovering = noon.Add(time.Minute) }), Wait, Recovering, "until 2026-03-01T12:01:00Z"},
		"a passed deadline does not delay": {
			facts("OOMKilled", func(f *Facts) { f.Workload.Recovering = noon }), Evict, Moved, ""},
		"a starting pod is not reported as waiting for a recovery": {
			facts("SandboxNotReady", func(f *Facts) { f.Match.Since, f.Workload.Recovering = noon.Add(-time.Second), noon.Add(time.Minute) }), Wait, TooEarly, "long enough"},
		"the status may be older than a recovery that has just ended": {
			facts("OOMKilled", func(f *Facts) { f.Workload.Recovered = noon.Add(-time.Second) }), Wait, TooEarly, "recovered a moment ago"},
		"the status is newer than a recovery that ended some seconds ago": {
			facts("OOMKilled", func(f *Facts) { f.Workload.Recovered = noon.Add(-signals.StatusAge) }), Evict, Moved, ""},
		"a failed pod stays failed after a recovery": {
			facts("AdmissionError", failedNow, func(f *Facts) { f.Workload.Recovered = noon }), Record, Excluded, ""},
		"a rejection is recorded during a recovery": {
			facts("AdmissionError", failedNow, func(f *Facts) { f.Workload.Recovering = noon.Add(time.Minute) }), Record, Excluded, ""},
		"a pinned pod is not moved": {
			facts("OOMKilled", func(f *Facts) { f.Pod.Pinned = "its volume is there" }), Leave, NotMovable, "because its volume is there"},
		"no other node": {
			facts("OOMKilled", func(f *Facts) { f.Node.Others = false }), Leave, NoOtherNode, "no other node"},
		"placed by Kueue on an untainted node": {
			facts("RuntimeError", func(f *Facts) { f.Pod.Placed = true }), Leave, NotMovable, "because the node has no taint"},
		"placed by Kueue on a tainted node": {
			facts("RuntimeError", func(f *Facts) { f.Pod.Placed, f.Node.Tainted = true, true }), Evict, Moved, "RuntimeError on node a"},
		"a container that exceeded its own limit": {
			facts("OOMKilled", func(f *Facts) { f.Match.OwnLimit = true }), Leave, WorkloadFault, "its own memory limit"},
		"a container with a limit on a node that is short of memory": {
			facts("OOMKilled", func(f *Facts) { f.Match.OwnLimit, f.Node.MemoryPressure = true, true }), Evict, Moved, "OOMKilled on node a"},
		"a bare pod that is not recreated": {facts("OOMKilled", bare), Leave, NotMovable, "no controller"},
		"a bare pod that is recreated": {
			facts("OOMKilled", bare, func(f *Facts) { f.Config.BarePods.Recreate = true }), Remake, Moved, "recreated"},
		"a failed bare pod that is recreated": {
			facts("AdmissionError", bare, failedNow, func(f *Facts) { f.Config.BarePods.Recreate = true }), Remake, Moved, "recreated"},
		"a dry run does nothing": {
			facts("OOMKilled", func(f *Facts) { f.Config.DryRun = true }), Leave, WouldMove, "dry run: OOMKilled on node a: evicted"},
		"node pressure is recorded and not charged": {facts("NodePressure", failedNow, times(3)), Record, Excluded, ""},
		"an old failure": {
			facts("OutOfResource", failedNow, func(f *Facts) { f.Match.Since = noon.Add(-time.Hour) }), Leave, TooLongAgo, ""},
		"a slot that fails in place is recorded and stays": {facts("FailsInPlace", inGroup), Record, Excluded, ""},
		"the member of a group moves":                      {facts("OOMKilled", inGroup), Evict, Moved, ""},
		"a group is moved once": {
			facts("OOMKilled", inGroup, func(f *Facts) { f.Workload.GroupMoved = noon.Add(-time.Minute) }), Wait, GroupMovedAlready, "group g"},
		"a group that has settled may move again": {
			facts("OOMKilled", inGroup, func(f *Facts) { f.Workload.GroupMoved = noon.Add(-2 * time.Minute) }), Evict, Moved, ""},
		"all rejected members are recorded": {
			facts("AdmissionError", failedNow, inGroup, func(f *Facts) { f.Workload.GroupMoved = noon }), Record, Excluded, ""},
		"a group that is disrupted as a whole is not moved": {
			facts("OOMKilled", inGroup, func(f *Facts) { f.Pod.Whole = true }), Leave, NotMovable, "as a whole"},
		"siblings that fail on two other nodes": {
			facts("CrashLoopBackOff", siblings([]string{"b", "c"}, nil)), Leave, WorkloadFault, "the workload is probably at fault"},
		"siblings that have no sandbox on two other nodes": {
			facts("SandboxNotReady", siblings([]string{"b", "c"}, nil)), Leave, WorkloadFault, "the workload is probably at fault"},
		"failing siblings, for a signal that ignores them": {
			facts("ContainerLost", siblings([]string{"b", "c"}, nil)), Evict, Moved, ""},
		"a pod whose volume may still be detached by force": {
			facts("SandboxNotReady", func(f *Facts) { f.Match.Since = noon.Add(-6 * time.Minute) }), Wait, TooEarly, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(c.facts)
			if d.Act != c.act || d.Reason != c.reason || !strings.Contains(d.Message, c.message) {
				t.Errorf("got %d %s %q", d.Act, d.Reason, d.Message)
			}
			if d.Act == Wait && d.After <= 0 {
				t.Error("After is not positive")
			}
			if d.Act != Leave && d.Act != Wait && !d.Learned {
				t.Error("no failure was recorded")
			}
		})
	}
}

// Every row that moves or records does so independently of all other rows.
func TestEveryRowDecides(t *testing.T) {
	for _, r := range signals.Default() {
		f := facts(r.Name)
		if r.Where == signals.Phase {
			failedNow(&f)
		}
		want := map[signals.Action]Act{signals.Never: Leave, signals.Record: Record, signals.Move: Evict}[r.Action]
		if f.Pod.Failed && want == Evict {
			want = Record // its controller replaces it
		}
		d := Decide(f)
		if d.Act != want {
			t.Errorf("%s: got %d (%s), want %d", r.Name, d.Act, d.Message, want)
		}
		if d.Act == Leave {
			continue
		}
		if got := d.Memory.Times; (got == 1) != r.Charged {
			t.Errorf("%s: %d moves are charged", r.Name, got)
		}
		if got := d.Memory.Exclusions(memory.MaxHosts, "", noon, nil); r.TTL > 0 && len(got) != 1 {
			t.Errorf("%s: excluded %v", r.Name, got)
		}
		if d.Blame != r.Blame {
			t.Errorf("%s: blame %d, want %d", r.Name, d.Blame, r.Blame)
		}
	}
}

func TestIdentityAndWorkload(t *testing.T) {
	slot := func(f *Facts) { f.Pod.Slot = "web-0" }
	if m := Decide(facts("OOMKilled", slot)).Memory; m.Exclusions(memory.MaxHosts, "web-1", noon, nil) != nil || m.Exclusions(memory.MaxHosts, "web-0", noon, nil) == nil {
		t.Errorf("an OOM loop of web-0 affects other slots: %+v", m.Entries)
	}
	if m := Decide(facts("AdmissionError", failedNow, slot)).Memory; m.Exclusions(memory.MaxHosts, "web-1", noon, nil) == nil {
		t.Error("a node that rejects pods is not excluded for others of the workload")
	}
}

// When a hundred replicas fail on one bad node, this counts as one fault and one move.
func TestSimultaneousFailuresAreChargedOnce(t *testing.T) {
	m := memory.Memory{}
	for i := range 100 {
		d := Decide(facts("AdmissionError", failedNow, func(f *Facts) {
			f.Workload.Memory, f.Pod.UID = m, fmt.Sprint("pod-", i)
			f.Now = noon.Add(time.Duration(i) * 10 * time.Millisecond)
			failedNow(f)
		}))
		if d.Act != Record {
			t.Fatalf("pod %d: %d %s %s", i, d.Act, d.Reason, d.Message)
		}
		m = d.Memory
	}
	if m.Times != 1 || len(m.Entries) != 1 {
		t.Errorf("%d moves, %d entries", m.Times, len(m.Entries))
	}
}

// The first decision is written before the pod is evicted. The next reconcile finds it, evicts the pod, and does not count another move.
func TestWrittenDecisionIsNotChargedAgain(t *testing.T) {
	first := Decide(facts("OOMKilled"))
	second := Decide(facts("OOMKilled", func(f *Facts) { f.Workload.Memory = first.Memory }))
	if second.Act != Evict || second.Learned || second.Memory.Times != 1 || second.Blame != 0 {
		t.Errorf("got %+v", second)
	}
}

// A single pod can only be compared with itself. If the failure follows it to a third node, the pod itself is at fault.
func TestPodThatFailsOnEveryNodeIsNotMoved(t *testing.T) {
	m, now := memory.Memory{}, noon
	for i, want := range []Act{Evict, Evict, Leave} {
		now = now.Add(20 * time.Minute)
		node := string(rune('a' + i))
		d := Decide(facts("CrashLoopBackOff", func(f *Facts) {
			f.Now, f.Match.Since = now, now.Add(-15*time.Minute)
			f.Workload.Memory, f.Node.Name, f.Node.UID = m, node, "uid-"+node
			f.Pod.UID, f.Pod.Created = fmt.Sprint(i), now.Add(-16*time.Minute)
		}))
		if d.Act != want {
			t.Fatalf("on node %s: %d %s %s", node, d.Act, d.Reason, d.Message)
		}
		if d.Learned {
			m = d.Memory
		}
	}
	if m.Times != 2 {
		t.Errorf("%d moves are charged", m.Times)
	}
}

func TestSuspicion(t *testing.T) {
	for name, c := range map[string]struct {
		slot          string
		failing, well []string
		moves         func(*Facts)
		workload      bool
	}{
		"no siblings":                                        {},
		"one healthy on another node":                        {well: []string{"b"}},
		"one failing on another node":                        {failing: []string{"b"}},
		"failing on two other nodes":                         {failing: []string{"b", "c"}, workload: true},
		"failing here and on one other node":                 {failing: []string{"a", "b"}},
		"one failing and one running":                        {failing: []string{"b"}, well: []string{"c"}},
		"two failing and one running":                        {failing: []string{"b", "c"}, well: []string{"d"}, workload: true},
		"as many failing as running":                         {failing: []string{"b", "c"}, well: []string{"d", "e"}, workload: true},
		"fewer failing than running":                         {failing: []string{"b", "c"}, well: []string{"d", "e", "f"}},
		"running on this node does not count":                {failing: []string{"b", "c"}, well: []string{"a", "d", "e"}, workload: true},
		"a slot that failed on one other node":               {slot: "w-0", moves: moved("w-0", "b")},
		"a slot that failed on two other nodes":              {slot: "w-0", moves: moved("w-0", "b", "c"), workload: true},
		"regardless of running siblings":                     {slot: "w-0", moves: moved("w-0", "b", "c"), well: []string{"d", "e", "f", "g"}, workload: true},
		"twice on one other node":                            {slot: "w-0", moves: moved("w-0", "b", "b")},
		"another slot that failed on two other nodes":        {slot: "w-0", moves: moved("w-1", "b", "c")},
		"pods without a slot that failed on two other nodes": {moves: moved("", "b", "c"), workload: true},
		"more running than failing":                          {moves: moved("", "b", "c"), well: []string{"d", "e", "f"}},
		"one earlier failure and one now":                    {moves: moved("", "b"), failing: []string{"c"}, workload: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := facts("OOMKilled", siblings(c.failing, c.well), func(f *Facts) { f.Pod.Slot = c.slot })
			if c.moves != nil {
				c.moves(&f)
			}
			if got := suspectsWorkload(f); got != c.workload {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestExclusionsOfOtherSlotsAreIgnored(t *testing.T) {
	d := Decide(facts("OOMKilled", remembered("OOMKilled", "web-1", "a"), func(f *Facts) { f.Pod.Slot = "web-0" }))
	if d.Act != Evict || d.Memory.Times != 1 {
		t.Errorf("got %+v", d)
	}
}

// Exclusions were lifted because there was no other node, and the pod that returned fails again, so lifting them has not helped. If they
// stayed lifted, its controller would keep creating pods there.
func TestFailureRestoresExclusions(t *testing.T) {
	relaxed := func(f *Facts) { f.Workload.Memory.RelaxedUntil = f.Now.Add(time.Minute) }
	d := Decide(facts("AdmissionError", failedNow, relaxed))
	if got := d.Memory.Exclusions(memory.MaxHosts, "", noon, nil); len(got) != 1 {
		t.Errorf("its replacement avoids %v", got)
	}
	again := Decide(facts("AdmissionError", failedNow, func(f *Facts) { f.Workload.Memory = d.Memory; relaxed(f) }))
	if again.Memory.RelaxedUntil.IsZero() {
		t.Error("a known failure ended it, too")
	}
}

// A PodDisruptionBudget blocked the move until the exclusion expired. The pod is not moved without an exclusion.
func TestBlockedPodIsMovedWithExclusion(t *testing.T) {
	first := Decide(facts("RuntimeError"))
	if first.Act != Evict || first.Memory.Times != 1 {
		t.Fatalf("at first: %+v", first)
	}
	later := Decide(facts("RuntimeError", func(f *Facts) {
		f.Workload.Memory, f.Now = first.Memory, f.Now.Add(f.Match.Row.TTL+5*time.Minute)
	}))
	if later.Act != Evict || !later.Learned || later.Memory.Times != first.Memory.Times {
		t.Errorf("later: %+v", later)
	}
	if got := later.Memory.Exclusions(memory.MaxHosts, "", noon.Add(20*time.Minute), nil); len(got) != 1 {
		t.Errorf("its replacement avoids %v", got)
	}
}

func TestClockOfNodeAheadDoesNotDelay(t *testing.T) {
	d := Decide(facts("TopologyAffinity", func(f *Facts) { f.Pod.Failed, f.Match.Since = true, f.Now.Add(time.Hour) }))
	if len(d.Memory.Entries) != 1 || d.Memory.Entries[0].Last.After(noon) {
		t.Errorf("got %+v", d)
	}
}

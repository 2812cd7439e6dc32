package memory

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const ttl = 15 * time.Minute

// failure returns a failure on node a at noon, of a pod that was created one minute earlier.
func failure(pod string, change ...func(*Failure)) Failure {
	f := Failure{
		Node: "a", NodeUID: "uid-a", Class: "Rejected", Reason: "UnexpectedAdmissionError", Pod: pod,
		Created: noon.Add(-time.Minute), At: noon, TTL: ttl,
	}
	for _, c := range change {
		c(&f)
	}
	return f
}

func on(node string) func(*Failure) {
	return func(f *Failure) { f.Node, f.NodeUID = node, "uid-"+node }
}

// later shifts the failure and the creation of its pod in time.
func later(d time.Duration) func(*Failure) {
	return func(f *Failure) { f.Created, f.At = f.Created.Add(d), f.At.Add(d) }
}

func learn(t *testing.T, m Memory, now time.Time, want Lesson, fs ...Failure) Memory {
	t.Helper()
	for _, f := range fs {
		var got Lesson
		if m, got = m.Learn(f, now); got != want {
			t.Fatalf("the failure of pod %s on %s is lesson %d, want %d", f.Pod, f.Node, got, want)
		}
	}
	return m
}

func TestFailureExcludesNode(t *testing.T) {
	m := learn(t, Memory{}, noon, New, failure("1"))
	if diff := cmp.Diff([]string{"a"}, m.Exclusions(MaxHosts, "", noon, nil)); diff != "" {
		t.Error(diff)
	}
	if got := m.Exclusions(MaxHosts, "", noon.Add(ttl), nil); got != nil {
		t.Errorf("excludes %v after the exclusion has expired", got)
	}
}

func TestKnownFailureChangesNothing(t *testing.T) {
	m := learn(t, Memory{}, noon, New, failure("1"))
	learn(t, m, noon.Add(time.Minute), Known, failure("1"))
}

// When a bad node rejects 500 pods of one workload at once, this counts as one fault.
func TestSimultaneousFailuresAreOneMove(t *testing.T) {
	m := learn(t, Memory{}, noon, New, failure("0"))
	for i := range 499 {
		m = learn(t, m, noon, Covered, failure(fmt.Sprint(i+1), later(time.Duration(i)*10*time.Millisecond)))
	}
	if e := m.Entries[0]; len(m.Entries) != 1 || e.Count != 1 || len(e.Pods) != 1 {
		t.Errorf("%d entries, the first with count %d and %d pods", len(m.Entries), e.Count, len(e.Pods))
	}
}

// Replicas may be as old as their workload. If one of them failed on a node long ago, the node is not necessarily still
// excluded.
func TestFailureAfterExclusionExpiredIsCounted(t *testing.T) {
	old := func(f *Failure) { f.Created = noon.Add(-time.Hour) }
	m := learn(t, Memory{}, noon, New, failure("1", old))
	m = learn(t, m, noon.Add(ttl-time.Second), Covered, failure("2", old, func(f *Failure) { f.At = noon.Add(ttl - time.Second) }))
	after := noon.Add(ttl)
	m = learn(t, m, after, New, failure("3", old, func(f *Failure) { f.At = after }))
	if got := m.Exclusions(MaxHosts, "", after, nil); len(got) != 1 {
		t.Errorf("its replacement avoids %v", got)
	}
}

func TestSecondClassOnExcludedNodeIsNotCharged(t *testing.T) {
	m := learn(t, Memory{}, noon, New, failure("1"))
	m = learn(t, m, noon, Covered, failure("2", func(f *Failure) { f.Class = "Runtime" }))
	if len(m.Entries) != 2 {
		t.Errorf("%d entries", len(m.Entries))
	}
}

func TestNodeThatFailsAgainIsExcludedTwiceAsLong(t *testing.T) {
	m := learn(t, Memory{}, noon, New, failure("1"))
	after := noon
	for i, want := range []time.Duration{2 * ttl, 4 * ttl, 8 * ttl, 16 * ttl, 16 * ttl} {
		after = after.Add(20 * time.Minute)
		m = learn(t, m, after, New, failure(fmt.Sprint(i+2), later(after.Sub(noon))))
		if got := m.Entries[0].Expires.Sub(after); got != want {
			t.Errorf("failure %d: excluded for %s, want %s", i+2, got, want)
		}
	}
}

// Failed pods may remain for days. When the controller restarts, it reconciles them again.
func TestOldFailureIsStale(t *testing.T) {
	learn(t, Memory{}, noon.Add(ttl), Stale, failure("1"))
	m := learn(t, Memory{}, noon, New, failure("1"))
	learn(t, m, noon.Add(3*time.Hour), Stale, failure("2", later(time.Hour)))
}

func TestFailureOfSlotExcludesOnlyForSlot(t *testing.T) {
	m := learn(t, Memory{}, noon, New, failure("1", func(f *Failure) { f.Slot = "web-0" }))
	if got := m.Exclusions(MaxHosts, "web-0", noon, nil); len(got) != 1 {
		t.Errorf("web-0 avoids %v", got)
	}
	if got := m.Exclusions(MaxHosts, "web-1", noon, nil); got != nil {
		t.Errorf("web-1 avoids %v", got)
	}
	learn(t, m, noon, New, failure("2", func(f *Failure) { f.Slot = "web-1" }))
}

func TestRecreatedNodeIsAnotherNode(t *testing.T) {
	m := learn(t, Memory{}, noon, New, failure("1"), failure("2", on("b")), failure("3", on("c")))
	uids := map[string]string{"a": "uid-a", "b": "another"}
	got := m.Exclusions(MaxHosts, "", noon, func(node string) (string, bool) { uid, exists := uids[node]; return uid, exists })
	if diff := cmp.Diff([]string{"a"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestMemorySurvivesEncoding(t *testing.T) {
	m := Memory{Times: 2, Template: "abc", RelaxedUntil: noon.Add(time.Minute)}
	m = learn(t, m, noon, New, failure("1"), failure("2", on("b"))).Charge(Move{Slot: "w-0", Node: "a", Class: "c", At: noon})
	got := Read(m.Annotations(noon))
	if diff := cmp.Diff(m, got); diff != "" {
		t.Error(diff)
	}
}

func TestWorkloadAnnotationIsUnion(t *testing.T) {
	m := learn(t, Memory{Times: 2}, noon, New,
		failure("1", func(f *Failure) { f.Slot = "web-0" }), failure("2", on("b"), func(f *Failure) { f.Slot = "web-1" }))
	got := m.Annotations(noon)[WorkloadAnnotation]
	if want := `{"currentReschedulingTimes":2,"deployScheduledHosts":["a","b"]}`; got != want {
		t.Errorf("got %s", got)
	}
}

func TestNodesWrittenByOtherProgramsCount(t *testing.T) {
	theirs := map[string]string{WorkloadAnnotation: `{"currentReschedulingTimes":1,"deployScheduledHosts":["x"]}`}
	m := Read(theirs)
	if diff := cmp.Diff([]string{"x"}, m.Exclusions(MaxHosts, "", noon, nil)); diff != "" || m.Times != 1 {
		t.Error(diff, m.Times)
	}
	theirs[Annotation] = Memory{}.Annotations(noon)[Annotation]
	if got := Read(theirs).Exclusions(MaxHosts, "", noon, nil); got != nil {
		t.Errorf("excludes %v", got)
	}
}

func TestInvalidMemoryIsEmpty(t *testing.T) {
	for name, value := range map[string]string{
		"no JSON":                         `{`,
		"an array":                        `[]`,
		"unknown version":                 `{"version":2,"entries":[{"node":"a","expires":"2100-01-01T00:00:00Z"}]}`,
		"an entry without a node":         `{"version":1,"entries":[{"expires":"2100-01-01T00:00:00Z"}]}`,
		"an entry without an expiry time": `{"version":1,"entries":[{"node":"a"}]}`,
		"an invalid time":                 `{"version":1,"entries":[{"node":"a","expires":"soon"}]}`,
		"a value above the limit":         `{"version":1,"template":"` + strings.Repeat("x", MaxBytes) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			m := Read(map[string]string{Annotation: value, WorkloadAnnotation: "broken"})
			if !m.Empty() {
				t.Errorf("read as %+v", m)
			}
		})
	}
}

func TestMemoryIsLimited(t *testing.T) {
	var m Memory
	for i := range 3 * MaxEntries {
		f := failure(strings.Repeat("p", 36), on(fmt.Sprintf("%0253d", i)), later(time.Duration(i)*time.Second))
		f.Reason = strings.Repeat("r", 1000)
		m, _ = m.Learn(f, f.At)
	}
	if len(m.Entries) != MaxEntries {
		t.Errorf("%d entries", len(m.Entries))
	}
	if got := m.Exclusions(MaxHosts, "", noon, nil); len(got) != MaxHosts || got[MaxHosts-1] != fmt.Sprintf("%0253d", 3*MaxEntries-1) {
		t.Errorf("%d nodes are excluded, or not those that expire last", len(got))
	}
	size := 0
	for _, value := range m.Annotations(noon) {
		size += len(value)
	}
	if size > MaxBytes {
		t.Errorf("%d bytes", size)
	}
}

func TestExhaustedMemoryExcludesNothing(t *testing.T) {
	m := learn(t, Memory{Times: 3}, noon, New, failure("1")).Exhaust()
	if got := m.Annotations(noon)[WorkloadAnnotation]; got != `{"currentReschedulingTimes":3,"deployScheduledHosts":[]}` {
		t.Errorf("got %s", got)
	}
	m, _ = m.Learn(failure("2", on("b")), noon)
	if got := m.Exclusions(MaxHosts, "", noon, nil); got != nil {
		t.Errorf("excludes %v", got)
	}
}

func TestRelaxedMemoryExcludesNothingUntilItExpires(t *testing.T) {
	m := learn(t, Memory{}, noon, New, failure("1"))
	m.RelaxedUntil = noon.Add(time.Minute)
	if got := m.Exclusions(MaxHosts, "", noon, nil); got != nil {
		t.Errorf("excludes %v", got)
	}
	if got := m.Exclusions(MaxHosts, "", noon.Add(time.Minute), nil); len(got) != 1 {
		t.Errorf("excludes %v", got)
	}
}

func TestOnlyMovesOfHealthySlotAreReturned(t *testing.T) {
	m := Memory{}
	for _, move := range []Move{{Slot: "w-0", Node: "a", Class: "c", At: noon}, {Slot: "w-1", Node: "b", Class: "c", At: noon}, {Slot: "w-1", Node: "c", Class: "c", At: noon}} {
		m = m.Charge(move)
	}
	m = m.Exhaust()
	if other := m.Return("w-2"); other.Times != 3 || !other.Exhausted {
		t.Errorf("returning the moves of a slot without moves left %+v", other)
	}
	m = m.Return("w-1").Return("w-1")
	if m.Times != 1 || m.Exhausted || !m.LastMove("w-1").IsZero() || m.LastMove("w-0").IsZero() {
		t.Errorf("got %+v", m)
	}
	if nodes := m.FailedOn("w-1", "c"); len(nodes) != 2 {
		t.Errorf("its history has the nodes %v", nodes)
	}
	if nodes := m.Forget(noon.Add(historyKept)).FailedOn("w-1", "c"); len(nodes) != 0 {
		t.Errorf("a week later its history has the nodes %v", nodes)
	}
}

// A node can be used again once its entry expires. The move away from it still counts.
func TestExpiredEntryStaysCharged(t *testing.T) {
	m := learn(t, Memory{}, noon, New, failure("1")).Charge(Move{Node: "a", Class: "c", At: noon})
	later := noon.Add(365 * 24 * time.Hour)
	m = Read(m.Forget(later).Annotations(later))
	if m.Times != 1 || len(m.Entries) != 0 || m.LastMove("").IsZero() {
		t.Errorf("a year later, the memory is %+v", m)
	}
}

func TestHistoryIsLimited(t *testing.T) {
	m := Memory{}
	for range 2 * MaxMoves {
		m = m.Charge(Move{Slot: "w-0", Node: "a", Class: "c", At: noon})
	}
	if m = m.Return("w-0"); len(m.Moves) != MaxMoves || m.Times != MaxMoves {
		t.Errorf("%d moves are recorded, and %d are charged", len(m.Moves), m.Times)
	}
}

func TestNewTemplateStartsEmpty(t *testing.T) {
	m := learn(t, Memory{Times: 2}, noon, New, failure("1")).For("v1")
	if m.Template != "v1" || m.Times != 2 {
		t.Errorf("a memory without a template became %+v", m)
	}
	if diff := cmp.Diff(Memory{Template: "v2"}, m.For("v2")); diff != "" {
		t.Error(diff)
	}
	if m := m.For(""); m.Times != 2 {
		t.Error("a pod without a template erased the memory")
	}
}

func TestConcurrentTemplatesShareMemory(t *testing.T) {
	living := []string{"v2", "v1", "", "v2"}
	m := learn(t, Memory{}.For("v1", living...), noon, New, failure("1"))
	m.Times = 1
	for range 3 { // written and read again, as between moves
		for _, template := range []string{"v2", "v1"} {
			m = Read(m.Annotations(noon)).For(template, living...)
			if m.Times != 1 || len(m.Entries) != 1 || m.Template != "v1" || len(m.SharedWith) != 1 {
				t.Fatalf("for template %s, the memory is %+v", template, m)
			}
		}
	}
	if diff := cmp.Diff(Memory{Template: "v3", SharedWith: []string{"v2"}}, m.For("v3", "v3", "v2")); diff != "" {
		t.Error("a third template does not start with an empty memory:", diff)
	}
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprint("t", i))
	}
	if m := (Memory{}).For("v1", many...); len(m.SharedWith) != maxSharedWith {
		t.Errorf("%d templates are recorded", len(m.SharedWith))
	}
}

func TestExpiredEntriesAreDroppedLater(t *testing.T) {
	m := learn(t, Memory{}, noon, New, failure("1"))
	if got := m.Forget(noon.Add(2*ttl - time.Second)); len(got.Entries) != 1 {
		t.Error("dropped while a repeated failure must still be recognized")
	}
	if got := m.Forget(noon.Add(2 * ttl)); len(got.Entries) != 0 {
		t.Error("not dropped")
	}
}

func TestMethodsDoNotModifyMemory(t *testing.T) {
	m := learn(t, Memory{}, noon, New, failure("2", on("b")), failure("1")).Charge(Move{Node: "a", Class: "c", At: noon})
	before := m.Annotations(noon)
	m.Learn(failure("3"), noon)
	m.Learn(failure("4", later(time.Hour)), noon.Add(time.Hour))
	m.Forget(noon.Add(time.Hour))
	m.Exhaust()
	m.Charge(Move{Slot: "w-0", Node: "a", Class: "c", At: noon})
	m.Return("")
	if diff := cmp.Diff(before, m.Annotations(noon)); diff != "" {
		t.Error(diff)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"version":1,"entries":[{"node":"a","expires":"2100-01-01T00:00:00Z"}]}`, `{"currentReschedulingTimes":1}`)
	f.Add(`{`, `null`)
	f.Add(`{"version":1,"entries":[{"node":"a","class":"c","count":-1,"expires":"2100-01-01T00:00:00Z"}]}`, `null`)
	f.Add(`{"version":1,"relaxedUntil":"9999-12-31T23:59:59-12:00","entries":[{"node":"a","class":"c","expires":"9999-12-31T23:59:59-12:00"}]}`, `null`)
	f.Fuzz(func(t *testing.T, record, info string) {
		m := Read(map[string]string{Annotation: record, WorkloadAnnotation: info})
		if len(m.Entries) > MaxEntries || m.Times < 0 {
			t.Errorf("%d entries, %d moves", len(m.Entries), m.Times)
		}
		m.Exclusions(MaxHosts, "", noon, nil)
		m.Forget(noon)
		failed := Failure{Node: "a", Class: "c", Pod: "p", Created: noon, At: noon, TTL: time.Hour}
		for range 2 {
			m, _ = m.Learn(failed, noon)
			m, _ = m.Renew(failed, noon)
			m.Annotations(noon)
		}
	})
}

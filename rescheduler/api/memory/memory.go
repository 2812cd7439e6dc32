package memory

import (
	"encoding/json"
	"slices"
	"time"
)

// Memory is what a workload remembers: what WorkloadAnnotation and Annotation hold together.
type Memory struct {
	Times   int // moves charged
	Entries []Entry
	// Template is a mark of the pod template whose failures these are, and Beside are those of others whose pods ran beside it when the
	// memory began: one memory serves them all.
	Template string
	Beside   []string
	// Moves are those that were charged, oldest first. They are the history of each slot.
	Moves []Move
	// Exhausted: all moves are used up. Entries stay, but no pod is kept away from their nodes.
	Exhausted bool
	// RelaxedUntil: no pod is kept away from a node until then, because a replacement found no other node.
	RelaxedUntil time.Time
}

// record is the value of Annotation. The count is in WorkloadAnnotation alone.
type record struct {
	Version      int        `json:"version"`
	Template     string     `json:"template,omitempty"`
	Beside       []string   `json:"beside,omitempty"`
	Exhausted    bool       `json:"exhausted,omitempty"`
	RelaxedUntil *time.Time `json:"relaxedUntil,omitempty"`
	Entries      []Entry    `json:"entries"`
	Moves        []Move     `json:"moves,omitempty"`
}

const version = 1

// hearsay is the class of nodes that somebody else wrote into WorkloadAnnotation, without a reason and without an end.
const hearsay = "Unknown"

// farAway is the end of what has none.
var farAway = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// Read is the memory in the annotations of a workload. What cannot be read is not remembered. Nodes of WorkloadAnnotation count
// only if there is no record beside them: then somebody else wrote them, and they have no end.
func Read(annotations map[string]string) Memory {
	var m Memory
	info, err := ParseWorkloadInfo(orNull(annotations[WorkloadAnnotation]))
	if err == nil {
		m.Times = info.CurrentReschedulingTimes
	}
	if r, ok := parseRecord(annotations[Annotation]); ok {
		m.Template, m.Beside, m.Exhausted, m.Entries = r.Template, others(r.Template, r.Beside), r.Exhausted, r.Entries
		m.Moves, m.RelaxedUntil = r.Moves, orZero(r.RelaxedUntil)
		return m.bounded()
	}
	for _, host := range info.DeployScheduledHosts {
		m.Entries = append(m.Entries, Entry{Node: host, Class: hearsay, Count: 1, Expires: farAway})
	}
	return m
}

func parseRecord(value string) (r record, ok bool) {
	if value == "" || len(value) > MaxBytes {
		return r, false
	}
	if err := json.Unmarshal([]byte(value), &r); err != nil || r.Version != version {
		return record{}, false
	}
	r.Entries = slices.DeleteFunc(r.Entries, func(e Entry) bool {
		return e.Node == "" || len(e.Node) > maxNodeName || e.Expires.IsZero() || e.Count < 0 ||
			!writable(e.First) || !writable(e.Last) || !writable(e.Expires)
	})
	r.Moves = slices.DeleteFunc(r.Moves, func(move Move) bool { return !move.valid() })
	r.Moves = r.Moves[max(0, len(r.Moves)-MaxMoves):]
	if r.RelaxedUntil != nil && !writable(*r.RelaxedUntil) {
		r.RelaxedUntil = nil
	}
	return r, true
}

// writable reports whether RFC 3339 has the time in UTC, where a year has four digits.
func writable(t time.Time) bool {
	year := t.UTC().Year()
	return year >= 1 && year <= 9999
}

// Annotations are those that hold the memory at `now`. Both are to be written together.
func (m Memory) Annotations(now time.Time) map[string]string {
	m = m.bounded()
	r := record{
		Version: version, Template: m.Template, Beside: m.Beside, Exhausted: m.Exhausted, Entries: m.Entries,
		Moves: m.Moves, RelaxedUntil: orNil(m.RelaxedUntil),
	}
	if r.Entries == nil {
		r.Entries = []Entry{}
	}
	return map[string]string{
		WorkloadAnnotation: m.Info(now).Format(),
		Annotation:         text(r),
	}
}

// Info is the memory as the design document has it: the union of all nodes.
func (m Memory) Info(now time.Time) WorkloadInfo {
	return WorkloadInfo{m.Times, m.nodes(MaxHosts, now, func(Entry) bool { return true })}
}

// Exclusions are the nodes that the pod of a slot is kept away from at `now`, at most MaxHosts, those that are remembered
// longest. current gives the UID of a node that exists; nil: all exist, as they were.
func (m Memory) Exclusions(slot string, now time.Time, current func(node string) (uid string, exists bool)) []string {
	return m.Longest(MaxHosts, slot, now, current)
}

// Longest is Exclusions with another bound than MaxHosts.
func (m Memory) Longest(most int, slot string, now time.Time, current func(node string) (uid string, exists bool)) []string {
	return m.nodes(most, now, func(e Entry) bool {
		if e.Slot != "" && e.Slot != slot {
			return false
		}
		if current == nil {
			return true
		}
		uid, exists := current(e.Node)
		return exists && (e.NodeUID == "" || uid == e.NodeUID)
	})
}

func (m Memory) nodes(most int, now time.Time, counts func(Entry) bool) []string {
	if m.Exhausted || now.Before(m.RelaxedUntil) {
		return nil
	}
	live := slices.DeleteFunc(slices.Clone(m.Entries), func(e Entry) bool { return !e.Live(now) || !counts(e) })
	slices.SortStableFunc(live, func(a, b Entry) int { return b.Expires.Compare(a.Expires) })
	var nodes []string
	for _, e := range live {
		if len(nodes) < most && !slices.Contains(nodes, e.Node) {
			nodes = append(nodes, e.Node)
		}
	}
	slices.Sort(nodes)
	return nodes
}

// Forget drops what is over: entries are kept for as long again as they held, so that a node that fails again is known. The count of
// moves stays as it is.
func (m Memory) Forget(now time.Time) Memory {
	m.Moves = slices.DeleteFunc(slices.Clone(m.Moves), func(move Move) bool { return move.Returned && now.Sub(move.At) >= historyKept })
	m.Entries = slices.DeleteFunc(slices.Clone(m.Entries), func(e Entry) bool {
		return !now.Before(e.Expires.Add(e.Expires.Sub(e.Last)))
	})
	if !now.Before(m.RelaxedUntil) {
		m.RelaxedUntil = time.Time{}
	}
	return m
}

// maxBeside bounds the templates that share a memory with another.
const maxBeside = 8

// For is the memory for pods of a template: one that it does not know begins with none, and knows from then on those that live beside it.
// Were that not so, two that stay side by side would make each other forget, in turn. A memory that does not know its template takes this
// one. living are templates of pods that exist now; of pods that are only looked up for there is no need to know any. Do not call it for
// a pod that has ended: see Knows.
func (m Memory) For(template string, living ...string) Memory {
	if template == "" || m.Template == template || slices.Contains(m.Beside, template) {
		return m
	}
	if m.Template == "" {
		m.Template, m.Beside = template, others(template, living)
		return m
	}
	return Memory{Template: template, Beside: others(template, living)}
}

// Knows reports whether failures of a template are added to the memory as it is. A pod that has ended, of a template that the memory does not
// know and that no living pod has, must not make it begin with none.
func (m Memory) Knows(template string) bool {
	return template == "" || m.Template == "" || m.Template == template || slices.Contains(m.Beside, template)
}

// others than a template, each once, in order; nil if there are none.
func others(template string, all []string) []string {
	all = slices.DeleteFunc(slices.Clone(all), func(t string) bool { return t == "" || t == template || len(t) > maxNodeName })
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == 0 {
		return nil
	}
	return all[:min(len(all), maxBeside)]
}

// Exhaust lets pods go back to all nodes, as the design document's notes want when the count would exceed the retries. Nothing is forgotten.
func (m Memory) Exhaust() Memory {
	m.Exhausted = true
	return m
}

// Empty reports whether there is nothing to remember.
func (m Memory) Empty() bool {
	return m.Times == 0 && len(m.Entries) == 0 && len(m.Moves) == 0 && !m.Exhausted
}

func orNull(value string) string {
	if value == "" {
		return "null"
	}
	return value
}

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

func orNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Second)
	return &t
}

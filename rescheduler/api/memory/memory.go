// Package memory reads and writes the failure history of a workload: the annotations in which the controller records the nodes that its
// pods have failed on, for the webhook and the scheduler plugin. It performs no I/O.
//
//	schedulingRetries            workload   the user     maximum number of moves; without it, pods are not moved
//	sigs.k8s.io/deploy           workload   controller   moves so far, nodes to avoid
//	holdfast.dev/rescheduling    workload   controller   Memory: the same with reasons, node UIDs and times
//	sigs.k8s.io/pod              bare pod   controller   as sigs.k8s.io/deploy, on a pod without an owner
//	sigs.k8s.io/scheduledHosts   pod        webhook      Hosts: nodes that this pod avoids
//
// Anyone with permission to write an object can write its annotations, so they are not trusted: values are limited, and invalid ones are
// treated as absent. The history is only a hint. Without it, Kubernetes behaves as usual.
//
// Source: the design document of pod rescheduling (error pods rescheduling), sections "Design details" and "Notes".
package memory

import (
	"encoding/json"
	"slices"
	"time"
)

// Memory is the failure history of a workload, as recorded in WorkloadAnnotation and Annotation.
type Memory struct {
	Times int `json:"-"` // counted moves; stored only in WorkloadAnnotation
	// Template identifies the pod template of the recorded failures. SharedWith lists other templates that share this history, because
	// their pods were running when it was started.
	Template   string   `json:"template,omitempty"`
	SharedWith []string `json:"beside,omitempty"`
	// Exhausted means that all moves are used up. Entries are kept, but their nodes are no longer excluded.
	Exhausted bool `json:"exhausted,omitempty"`
	// RelaxedUntil is when exclusions apply again after they were lifted because a replacement could not be scheduled to any other node.
	RelaxedUntil time.Time `json:"relaxedUntil,omitzero"`
	Entries      []Entry   `json:"entries"`
	// Moves are the counted moves, oldest first. They form the history of each slot.
	Moves []Move `json:"moves,omitempty"`
}

// record is the value of Annotation.
type record struct {
	Version int `json:"version"`
	Memory
}

const version = 1

// unknownClass is the class of nodes written to WorkloadAnnotation by another program, without a reason or an expiry time.
const unknownClass = "Unknown"

// farAway is the expiry time of entries that never expire.
var farAway = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// Read returns the history from a workload's annotations and drops invalid parts. The nodes in WorkloadAnnotation are used only if
// Annotation holds no record. In that case they were written by another program, and never expire.
func Read(annotations map[string]string) Memory {
	info, _ := parseInfo[workloadInfo](annotations[WorkloadAnnotation]) // zero if it is invalid
	r, ok := parseRecord(annotations[Annotation])
	m := r.Memory
	m.Times = max(0, info.Times)
	if ok {
		return m.bounded()
	}
	for _, host := range normal(info.Hosts) {
		m.Entries = append(m.Entries, Entry{Node: host, Class: unknownClass, Count: 1, Expires: farAway})
	}
	return m
}

// ReadPod is like Read, but for a pod without an owner, whose number of moves is in PodAnnotation.
func ReadPod(annotations map[string]string) Memory {
	m := Read(annotations)
	if info, ok := parseInfo[podInfo](annotations[PodAnnotation]); ok {
		m.Times = max(0, info.Times)
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
	r.SharedWith = others(r.Template, r.SharedWith)
	if !writable(r.RelaxedUntil) {
		r.RelaxedUntil = time.Time{}
	}
	return r, true
}

// writable reports whether RFC 3339 can represent the time in UTC: its year has four digits.
func writable(t time.Time) bool {
	year := t.UTC().Year()
	return year >= 1 && year <= 9999
}

// Annotations returns the annotations that hold the history at `now`. Always write both of them together.
func (m Memory) Annotations(now time.Time) map[string]string {
	m = m.bounded()
	r := record{Version: version, Memory: m}
	r.RelaxedUntil = m.RelaxedUntil.UTC().Truncate(time.Second)
	if r.Entries == nil {
		r.Entries = []Entry{}
	}
	return map[string]string{
		WorkloadAnnotation: text(m.info(now)),
		Annotation:         text(r),
	}
}

// PodAnnotations is like Annotations, but for a pod without an owner. The webhook ignores the replacement of such a pod, so the nodes in
// PodAnnotation are only informational.
func (m Memory) PodAnnotations(now time.Time) map[string]string {
	return map[string]string{
		PodAnnotation: text(podInfo(m.info(now))),
		Annotation:    m.Annotations(now)[Annotation],
	}
}

// info returns the history in the format that the design document defines, which lists the nodes of all slots together.
func (m Memory) info(now time.Time) workloadInfo {
	return workloadInfo{max(0, m.Times), normal(m.nodes(MaxHosts, now, func(Entry) bool { return true }))}
}

// Exclusions returns the nodes that a slot's pod must avoid at `now`: at most the given number, preferring those that expire last. current
// returns the UID of a node and whether it exists. If current is nil, all nodes are assumed to exist unchanged.
func (m Memory) Exclusions(most int, slot string, now time.Time, current func(node string) (uid string, exists bool)) []string {
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

// Forget drops entries some time after they expire. An expired entry is kept for as long as it had excluded its node, so that a repeated
// failure is recognized. The number of moves does not change.
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

// maxSharedWith limits the number of templates that share a history.
const maxSharedWith = 8

// For returns the history for pods of a template. If m does not know the template, the result is an empty history that is shared with the
// templates of the living pods. Without sharing, two templates in use at the same time would keep erasing each other's history. If m has no
// template yet, it is assigned this one. living may be empty if the history is only read. Do not call For for a pod that has ended. See
// Knows.
func (m Memory) For(template string, living ...string) Memory {
	if !m.Knows(template) {
		return Memory{Template: template, SharedWith: others(template, living)}
	}
	if m.Template == "" && template != "" {
		m.Template, m.SharedWith = template, others(template, living)
	}
	return m
}

// Knows reports whether failures of the template belong to this history. A pod that has ended must not start a new history if m does not
// know its template and no living pod uses it.
func (m Memory) Knows(template string) bool {
	return template == "" || m.Template == "" || m.Template == template || slices.Contains(m.SharedWith, template)
}

// others returns the templates except one, sorted and without duplicates, or nil if there are none.
func others(template string, all []string) []string {
	all = slices.DeleteFunc(slices.Clone(all), func(t string) bool { return t == "" || t == template || len(t) > maxNodeName })
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == 0 {
		return nil
	}
	return all[:min(len(all), maxSharedWith)]
}

// Exhaust lifts all exclusions once the number of moves would exceed the retries, as the notes of the design document require. It keeps the
// entries.
func (m Memory) Exhaust() Memory {
	m.Exhausted = true
	return m
}

// Empty reports whether nothing is recorded.
func (m Memory) Empty() bool {
	return m.Times == 0 && len(m.Entries) == 0 && len(m.Moves) == 0 && !m.Exhausted
}

const (
	// MaxMoves limits the history. A move that is dropped from it still counts and is never returned.
	MaxMoves = 64
	// historyKept is how long a move that no longer counts is kept in the history of its slot.
	historyKept = 7 * 24 * time.Hour
)

// Move is one counted move of the workload.
type Move struct {
	Slot  string    `json:"slot,omitempty"` // identity of the pod that failed; empty if it has none
	Node  string    `json:"node"`
	Class string    `json:"class"`
	At    time.Time `json:"at"`
	// Returned means that the slot has been healthy since then, so the move no longer counts.
	Returned bool `json:"returned,omitempty"`
}

// valid reports whether a parsed move is within the limits that apply to written ones.
func (m Move) valid() bool {
	return max(len(m.Node), len(m.Slot), len(m.Class)) <= maxText+maxNodeName && !m.At.IsZero() && writable(m.At)
}

// Charge returns m with one more counted move.
func (m Memory) Charge(move Move) Memory {
	move.At = move.At.UTC().Truncate(time.Second)
	m.Times++
	m.Moves = append(slices.Clip(m.Moves), move)
	m.Moves = m.Moves[max(0, len(m.Moves)-MaxMoves):]
	return m
}

// LastMove returns the time of the last move of a slot that still counts, or zero if there is none.
func (m Memory) LastMove(slot string) (last time.Time) {
	for _, move := range m.Moves {
		if move.Slot == slot && !move.Returned && move.At.After(last) {
			last = move.At
		}
	}
	return last
}

// Return stops counting the moves of one slot, which has been healthy for long enough. It does not affect other slots.
func (m Memory) Return(slot string) Memory {
	m.Moves = slices.Clone(m.Moves)
	for i := range m.Moves {
		if m.Moves[i].Slot == slot && !m.Moves[i].Returned {
			m.Moves[i].Returned = true
			m.Times = max(0, m.Times-1)
			m.Exhausted = false
		}
	}
	return m
}

// FailedOn returns the nodes that a slot was moved away from because of failures of one class, whether or not the moves still count.
func (m Memory) FailedOn(slot, class string) map[string]bool {
	nodes := map[string]bool{}
	for _, move := range m.Moves {
		if move.Slot == slot && move.Class == class {
			nodes[move.Node] = true
		}
	}
	return nodes
}

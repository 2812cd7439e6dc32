package tree

import (
	"fmt"
	"time"
)

// Action is what happened to a key, in etcd's words.
type Action string

// The actions.
const (
	ActionGet              Action = "get"
	ActionSet              Action = "set"
	ActionCreate           Action = "create"
	ActionUpdate           Action = "update"
	ActionDelete           Action = "delete"
	ActionExpire           Action = "expire"
	ActionCompareAndSwap   Action = "compareAndSwap"
	ActionCompareAndDelete Action = "compareAndDelete"
)

// Event is the answer to an operation, and what a watch sees of it.
type Event struct {
	Action Action
	Node   *View
	Before *View  // nil: there was nothing
	Index  uint64 // of the tree
}

// What a watch may look back: as many events as etcd keeps, unless they are large.
const (
	kept      = 1000
	keptBytes = 16 << 20
)

// history is the last events.
type history struct {
	events  []*Event
	bytes   int
	cleared uint64 // the index of the last event that is not kept, or that the tree began with
}

func (h *history) add(e *Event) {
	h.events = append(h.events, e)
	h.bytes += e.size()
	for len(h.events) > kept || h.bytes > keptBytes && len(h.events) > 1 {
		oldest := h.events[0]
		h.cleared = oldest.Index
		h.bytes -= oldest.size()
		h.events[0] = nil
		h.events = h.events[1:]
	}
}

func (e *Event) size() int {
	n := len(e.Node.Path) + len(e.Node.Value)
	if e.Before != nil {
		n += len(e.Before.Value)
	}
	return n
}

// first finds the first event that the watch waits for.
func (h *history) first(w *Watch) *Event {
	for _, e := range h.events {
		if w.matches(e) {
			return e
		}
	}
	return nil
}

// happened tells watchers, and keeps the event for those that look back.
func (t *Tree) happened(now time.Time, action Action, n *node, before *View) *Event {
	e := &Event{Action: action, Node: n.view(now, 0), Before: before, Index: t.index}
	t.history.add(e)
	for w := range t.watches {
		if w.matches(e) {
			delete(t.watches, w)
			w.notify(e)
		}
	}
	return e
}

// Watch is one client that waits for one event.
type Watch struct {
	path      string
	recursive bool
	from      uint64
	notify    func(*Event)
}

// matches: an event on the path itself, below it if the watch is recursive, or the end of a folder above it.
func (w *Watch) matches(e *Event) bool {
	if e.Index < w.from {
		return false
	}
	p := e.Node.Path
	ended := e.Action == ActionDelete || e.Action == ActionExpire
	return p == w.path || w.recursive && within(p, w.path) || ended && within(w.path, p)
}

// Watch calls notify once, with the first event on the path (or below, if recursive) whose index is at least the given one; 0 is from now on.
// If that event has happened already, notify is called before Watch returns; otherwise from within the operation that makes it. notify must not call
// the tree. An index that is older than what is kept is refused with CodeCleared.
func (t *Tree) Watch(now time.Time, p string, recursive bool, from uint64, notify func(*Event)) (*Watch, error) {
	t.Expire(now)
	w := &Watch{path: clean(p), recursive: recursive, from: from, notify: notify}
	if from > 0 && from <= t.history.cleared {
		return nil, t.refuse(CodeCleared, fmt.Sprintf("the requested history has been cleared [%d/%d]", t.history.cleared+1, from))
	}
	if from > 0 {
		if e := t.history.first(w); e != nil {
			notify(e)
			return w, nil
		}
	}
	t.watches[w] = struct{}{}
	return w, nil
}

// Unwatch ends a watch, whose notify is not called any more. One that is over, or nil, may be ended.
func (t *Tree) Unwatch(w *Watch) { delete(t.watches, w) }

// Watches is how many there are.
func (t *Tree) Watches() int { return len(t.watches) }

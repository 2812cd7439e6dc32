package tree

import (
	"container/heap"
	"time"
)

// expiries is a heap of the nodes that have a time, the first to expire on top. A node whose time was changed is in it several times; what
// counts is the node's own field.
type expiries []expiry

type expiry struct {
	at   time.Time
	node *node
}

func (e expiries) Len() int           { return len(e) }
func (e expiries) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e expiries) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *expiries) Push(x any)        { *e = append(*e, x.(expiry)) }
func (e *expiries) Pop() any {
	old := *e
	last := old[len(old)-1]
	old[len(old)-1] = expiry{}
	*e = old[:len(old)-1]
	return last
}

func (t *Tree) expireAt(n *node, at time.Time) {
	n.expires = at
	if !at.IsZero() {
		heap.Push(&t.due, expiry{at, n})
	}
	t.compact()
}

// compact keeps refreshed keys from filling the heap with what counts no more.
func (t *Tree) compact() {
	if len(t.due) < 64 || len(t.due) < 4*t.book.Total().Keys {
		return
	}
	live := t.due[:0]
	for _, e := range t.due {
		if e.node.expires.Equal(e.at) {
			live = append(live, e)
		}
	}
	clear(t.due[len(live):])
	t.due = live
	heap.Init(&t.due)
}

// Expire removes what is due, in the order of the times, and tells watchers.
func (t *Tree) Expire(now time.Time) {
	for len(t.due) > 0 && !t.due[0].at.After(now) {
		e := heap.Pop(&t.due).(expiry)
		if e.node.expires.Equal(e.at) {
			t.remove(now, e.node, ActionExpire)
		}
	}
}

// NextExpiry is when the next key expires. It may be early, never late. There is none if ok is false.
func (t *Tree) NextExpiry() (at time.Time, ok bool) {
	if len(t.due) == 0 {
		return time.Time{}, false
	}
	return t.due[0].at, true
}

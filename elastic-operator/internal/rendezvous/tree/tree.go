package tree

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/quota"
)

// Tree keeps the keys of all jobs.
type Tree struct {
	root    *node
	index   uint64
	due     expiries
	history history
	watches map[*Watch]struct{}
	book    *quota.Book
}

// New makes an empty tree whose index begins at a number; one that no earlier tree of the same clients had reached keeps indexes that they
// remember from comparing equal by accident.
func New(index uint64, l quota.Limits) *Tree {
	return &Tree{
		root: &node{path: "/", children: map[string]*node{}}, index: index, watches: map[*Watch]struct{}{}, book: quota.NewBook(l),
		history: history{cleared: index},
	}
}

// Index is that of the last change.
func (t *Tree) Index() uint64 { return t.index }

// Usage is what all jobs keep.
func (t *Tree) Usage() quota.Usage { return t.book.Total() }

// Get shows a key; of a folder its children too, or all that is below it.
func (t *Tree) Get(now time.Time, p string, recursive bool) (*Event, error) {
	t.Expire(now)
	n, err := t.find(p)
	if err != nil {
		return nil, err
	}
	depth := 1
	if recursive {
		depth = -1
	}
	return &Event{Action: ActionGet, Node: n.view(now, depth), Index: t.index}, nil
}

// MakeFolder makes sure that there is a folder, with those above it. It belongs to no job and is no event.
func (t *Tree) MakeFolder(p string) error {
	_, err := t.folder("", clean(p))
	return err
}

// Put writes a key, on behalf of a job. Errors are *Error, or quota.ErrExceeded.
func (t *Tree) Put(now time.Time, job string, w Write) (*Event, error) {
	t.Expire(now)
	w.Path = clean(w.Path)
	if w.Path == "/" {
		return nil, t.refuse(CodeReadOnly, "/")
	}
	n, err := t.find(w.Path)
	if err != nil && err.(*Error).Code != CodeNotFound {
		return nil, err
	}
	if err := t.permit(n, w); err != nil {
		return nil, err
	}
	if n == nil {
		return t.create(now, job, w)
	}
	return t.replace(now, n, w)
}

// permit checks a write against what is there, nil if nothing is.
func (t *Tree) permit(n *node, w Write) error {
	switch {
	case n == nil && w.needs():
		return t.refuse(CodeNotFound, w.Path)
	case n == nil:
		return nil
	case w.Exist == Absent:
		return t.refuse(CodeExists, w.Path)
	case n.folder() && (w.compares() || w.Value != "" || !w.updates()):
		return t.refuse(CodeNotFile, w.Path)
	case !n.folder() && w.Folder:
		return t.refuse(CodeNotFolder, w.Path)
	}
	return t.compare(n, w.PrevValue, w.PrevIndex)
}

func (t *Tree) compare(n *node, value *string, index uint64) error {
	if value != nil && *value != n.value {
		return t.refuse(CodeCompareFailed, fmt.Sprintf("[%s != %s]", *value, n.value))
	}
	if index != 0 && index != n.modified {
		return t.refuse(CodeCompareFailed, fmt.Sprintf("[%d != %d]", index, n.modified))
	}
	return nil
}

func (t *Tree) create(now time.Time, job string, w Write) (*Event, error) {
	cut := strings.LastIndexByte(w.Path, '/')
	parent, err := t.folder(job, clean(w.Path[:cut]))
	if err != nil {
		return nil, err
	}
	if err := t.book.Add(job, quota.Usage{}, quota.Cost(w.Path, len(w.Value))); err != nil {
		return nil, err
	}
	t.index++
	n := &node{job: job, path: w.Path, value: w.Value, created: t.index, modified: t.index, parent: parent}
	if w.Folder {
		n.children = map[string]*node{}
	}
	parent.children[w.Path[cut+1:]] = n
	t.expireAt(n, w.deadline(now))
	return t.happened(now, w.action(), n, nil), nil
}

func (t *Tree) replace(now time.Time, n *node, w Write) (*Event, error) {
	value := w.Value
	if w.Refresh {
		value = n.value
	}
	if err := t.book.Add(n.job, quota.Cost(n.path, len(n.value)), quota.Cost(n.path, len(value))); err != nil {
		return nil, err
	}
	before := n.view(now, 0)
	t.index++
	n.value, n.modified = value, t.index
	if w.creates() {
		n.created = t.index
	}
	t.expireAt(n, w.deadline(now))
	if w.Refresh {
		return &Event{Action: w.action(), Node: n.view(now, 0), Before: before, Index: t.index}, nil
	}
	return t.happened(now, w.action(), n, before), nil
}

// Delete removes a key, or a folder: an empty one with folder set, any with recursive set.
func (t *Tree) Delete(now time.Time, d Removal) (*Event, error) {
	t.Expire(now)
	n, err := t.find(d.Path)
	switch {
	case err != nil:
		return nil, err
	case n == t.root:
		return nil, t.refuse(CodeReadOnly, "/")
	case n.folder() && (d.compares() || !d.Folder && !d.Recursive):
		return nil, t.refuse(CodeNotFile, n.path)
	case n.folder() && len(n.children) > 0 && !d.Recursive:
		return nil, t.refuse(CodeNotEmpty, n.path)
	}
	if err := t.compare(n, d.PrevValue, d.PrevIndex); err != nil {
		return nil, err
	}
	action := ActionDelete
	if d.compares() {
		action = ActionCompareAndDelete
	}
	return t.remove(now, n, action), nil
}

func (t *Tree) remove(now time.Time, n *node, action Action) *Event {
	before := n.view(now, 0)
	delete(n.parent.children, n.path[strings.LastIndexByte(n.path, '/')+1:])
	t.release(n)
	t.index++
	gone := &node{path: n.path, created: n.created, modified: t.index, children: n.children}
	return t.happened(now, action, gone, before)
}

// release gives back what the node and all below it took.
func (t *Tree) release(n *node) {
	for _, child := range n.children {
		t.release(child)
	}
	t.expireAt(n, time.Time{})
	if n.job != "" {
		t.book.Remove(n.job, quota.Cost(n.path, len(n.value)))
	}
}

func (t *Tree) find(p string) (*node, error) {
	n := t.root
	for _, name := range segments(p) {
		if !n.folder() {
			return nil, t.refuse(CodeNotFolder, n.path)
		}
		child, ok := n.children[name]
		if !ok {
			return nil, t.refuse(CodeNotFound, clean(p))
		}
		n = child
	}
	return n, nil
}

// folder finds a folder, and makes what is missing on the way to it.
func (t *Tree) folder(job, p string) (*node, error) {
	n := t.root
	for _, name := range segments(p) {
		child, ok := n.children[name]
		if !ok {
			child = &node{job: job, path: clean(n.path + "/" + name), created: t.index + 1, modified: t.index + 1, parent: n, children: map[string]*node{}}
			if job != "" {
				if err := t.book.Add(job, quota.Usage{}, quota.Cost(child.path, 0)); err != nil {
					return nil, err
				}
			}
			n.children[name] = child
		}
		if !child.folder() {
			return nil, t.refuse(CodeNotFolder, child.path)
		}
		n = child
	}
	return n, nil
}

func segments(p string) []string {
	if p = clean(p); p == "/" {
		return nil
	}
	return strings.Split(p[1:], "/")
}

func (t *Tree) refuse(code Code, cause string) error {
	return &Error{Code: code, Cause: cause, Index: t.index}
}

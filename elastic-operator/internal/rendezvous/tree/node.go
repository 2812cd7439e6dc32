package tree

import (
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

type node struct {
	job      string
	path     string
	value    string
	created  uint64
	modified uint64
	expires  time.Time // zero: never
	parent   *node
	children map[string]*node // nil: a file
}

func (n *node) folder() bool { return n.children != nil }

// View is what a client sees of a node.
type View struct {
	Path     string
	Value    string
	Folder   bool
	Created  uint64
	Modified uint64
	Expires  time.Time // zero: never
	TTL      int64     // whole seconds that are left, if it expires
	Children []View    // of a folder, in the order of their names
}

// view shows the node and, of a folder, depth levels below it; a negative depth shows all.
func (n *node) view(now time.Time, depth int) *View {
	v := View{Path: n.path, Value: n.value, Folder: n.folder(), Created: n.created, Modified: n.modified, Expires: n.expires}
	if !n.expires.IsZero() {
		v.TTL = int64((n.expires.Sub(now) + time.Second - 1) / time.Second)
	}
	if n.folder() && depth != 0 {
		for _, name := range slices.Sorted(maps.Keys(n.children)) {
			v.Children = append(v.Children, *n.children[name].view(now, depth-1))
		}
	}
	return &v
}

// clean is the path in its one form: it begins with a slash and ends without one, the root apart.
func clean(p string) string { return path.Clean("/" + p) }

// within tells whether a path is another one or below it.
func within(p, folder string) bool {
	return p == folder || folder == "/" || strings.HasPrefix(p, folder+"/")
}

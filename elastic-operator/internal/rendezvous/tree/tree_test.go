package tree

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/quota"
)

var start = time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)

// world is a tree with a clock.
type world struct {
	*testing.T
	tree *Tree
	now  time.Time
}

func newWorld(t *testing.T) *world { return &world{t, New(100, quota.Limits{}), start} }

func (w *world) put(write Write) *Event {
	w.Helper()
	e, err := w.tree.Put(w.now, "job", write)
	if err != nil {
		w.Fatal(err)
	}
	return e
}

func (w *world) code(err error) Code {
	w.Helper()
	var e *Error
	if err != nil && !errors.As(err, &e) {
		w.Fatalf("not one of etcd's errors: %v", err)
	}
	if e == nil {
		return 0
	}
	return e.Code
}

func ttl(seconds int) *time.Duration {
	d := time.Duration(seconds) * time.Second
	return &d
}

func TestPutOnAFile(t *testing.T) {
	text := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		write  Write
		want   Code
		action Action
		fresh  bool // counts as a new key
	}{
		"a plain write sets":                    {Write{Path: "/d/k", Value: "2"}, 0, ActionSet, true},
		"a path in another form is the same":    {Write{Path: "d//k/", Value: "2"}, 0, ActionSet, true},
		"it has to be absent":                   {Write{Path: "/d/k", Value: "2", Exist: Absent}, CodeExists, "", false},
		"it has to be present":                  {Write{Path: "/d/k", Value: "2", Exist: Present}, 0, ActionUpdate, false},
		"another one has to be present":         {Write{Path: "/d/l", Value: "2", Exist: Present}, CodeNotFound, "", false},
		"the value is as expected":              {Write{Path: "/d/k", Value: "2", PrevValue: text("1")}, 0, ActionCompareAndSwap, false},
		"the value is not as expected":          {Write{Path: "/d/k", Value: "2", PrevValue: text("0")}, CodeCompareFailed, "", false},
		"the index is as expected":              {Write{Path: "/d/k", Value: "2", PrevIndex: 101}, 0, ActionCompareAndSwap, false},
		"the index is not as expected":          {Write{Path: "/d/k", Value: "2", PrevIndex: 100}, CodeCompareFailed, "", false},
		"a missing key cannot be compared":      {Write{Path: "/d/l", Value: "2", PrevIndex: 101}, CodeNotFound, "", false},
		"a file is no folder on the way":        {Write{Path: "/d/k/l", Value: "2"}, CodeNotFolder, "", false},
		"a file does not become a folder":       {Write{Path: "/d/k", Folder: true}, CodeNotFolder, "", false},
		"a folder is no file":                   {Write{Path: "/d", Value: "2"}, CodeNotFile, "", false},
		"a folder that is there":                {Write{Path: "/d", Folder: true, Exist: Absent}, CodeExists, "", false},
		"a folder is not made anew":             {Write{Path: "/d", Folder: true}, CodeNotFile, "", false},
		"a folder's time is refreshed":          {Write{Path: "/d", Refresh: true, Exist: Present, TTL: ttl(5)}, 0, ActionUpdate, false},
		"what is not there cannot be refreshed": {Write{Path: "/x", Refresh: true, Exist: Present, TTL: ttl(5)}, CodeNotFound, "", false},
		"the root is read only":                 {Write{Path: "/", Value: "2"}, CodeReadOnly, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.put(Write{Path: "/d/k", Value: "1"})
			e, err := w.tree.Put(w.now, "job", c.write)
			if got := w.code(err); got != c.want {
				t.Fatalf("code %d, want %d", got, c.want)
			}
			if c.want != 0 {
				if w.tree.Index() != 101 {
					t.Errorf("a refused write counts: index %d", w.tree.Index())
				}
				return
			}
			if e.Action != c.action || e.Node.Modified != 102 || (e.Node.Created == 102) != c.fresh {
				t.Errorf("%s %+v", e.Action, e.Node)
			}
		})
	}
}

func TestGetShowsFoldersInOrder(t *testing.T) {
	w := newWorld(t)
	for _, p := range []string{"/d/b", "/d/a", "/d/c/x"} {
		w.put(Write{Path: p, Value: p})
	}
	for name, c := range map[string]struct {
		recursive bool
		want      string
	}{
		"one level":  {false, "/d(/d/a /d/b /d/c())"},
		"all levels": {true, "/d(/d/a /d/b /d/c(/d/c/x))"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := w.tree.Get(w.now, "/d", c.recursive)
			if err != nil {
				t.Fatal(err)
			}
			if got := draw(*e.Node); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	if _, err := w.tree.Get(w.now, "/d/z", false); w.code(err) != CodeNotFound {
		t.Errorf("a missing key: %v", err)
	}
	if _, err := w.tree.Get(w.now, "/d/a/z", false); w.code(err) != CodeNotFolder {
		t.Errorf("below a file: %v", err)
	}
}

func draw(v View) string {
	if !v.Folder {
		return v.Path
	}
	var names []string
	for _, c := range v.Children {
		names = append(names, draw(c))
	}
	return v.Path + "(" + strings.Join(names, " ") + ")"
}

func TestDelete(t *testing.T) {
	text := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		removal Removal
		want    Code
		action  Action
	}{
		"a file":                     {Removal{Path: "/d/k"}, 0, ActionDelete},
		"a file with its value":      {Removal{Path: "/d/k", PrevValue: text("1")}, 0, ActionCompareAndDelete},
		"a file with another value":  {Removal{Path: "/d/k", PrevValue: text("2")}, CodeCompareFailed, ""},
		"a folder as a file":         {Removal{Path: "/d"}, CodeNotFile, ""},
		"a folder that is not empty": {Removal{Path: "/d", Folder: true}, CodeNotEmpty, ""},
		"a folder with all below":    {Removal{Path: "/d", Recursive: true}, 0, ActionDelete},
		"what is not there":          {Removal{Path: "/x"}, CodeNotFound, ""},
		"the root":                   {Removal{Path: "/", Recursive: true}, CodeReadOnly, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.put(Write{Path: "/d/k", Value: "1"})
			e, err := w.tree.Delete(w.now, c.removal)
			if got := w.code(err); got != c.want {
				t.Fatalf("code %d, want %d", got, c.want)
			}
			if c.want != 0 {
				return
			}
			if e.Action != c.action || e.Before == nil {
				t.Errorf("%+v", e)
			}
			if _, err := w.tree.Get(w.now, c.removal.Path, false); w.code(err) != CodeNotFound {
				t.Errorf("it is still there: %v", err)
			}
		})
	}
}

func TestKeysExpireAndRefreshedOnesLive(t *testing.T) {
	w := newWorld(t)
	w.put(Write{Path: "/d/short", TTL: ttl(10)})
	w.put(Write{Path: "/d/kept", TTL: ttl(10)})
	w.put(Write{Path: "/d/freed", TTL: ttl(10)})
	w.now = w.now.Add(5 * time.Second)
	w.put(Write{Path: "/d/kept", Refresh: true, Exist: Present, TTL: ttl(10)})
	w.put(Write{Path: "/d/freed", Exist: Present})
	if at, ok := w.tree.NextExpiry(); !ok || !at.Equal(start.Add(10*time.Second)) {
		t.Errorf("next expiry %v, %v", at, ok)
	}
	w.now = w.now.Add(5 * time.Second)
	e, err := w.tree.Get(w.now, "/d", false)
	if err != nil {
		t.Fatal(err)
	}
	if got := draw(*e.Node); got != "/d(/d/freed /d/kept)" {
		t.Errorf("got %s", got)
	}
	if left := e.Node.Children[1].TTL; left != 5 {
		t.Errorf("the refreshed key has %d seconds left", left)
	}
}

func TestAFolderTakesAllBelowWithIt(t *testing.T) {
	w := newWorld(t)
	w.put(Write{Path: "/run", Folder: true, TTL: ttl(10)})
	w.put(Write{Path: "/run/rdzv/k", Value: "v", TTL: ttl(100)})
	ended := make(map[string]Action)
	for _, p := range []string{"/run", "/run/rdzv/k"} {
		if _, err := w.tree.Watch(w.now, p, false, 0, func(e *Event) { ended[p] = e.Action }); err != nil {
			t.Fatal(err)
		}
	}
	w.tree.Expire(start.Add(10 * time.Second))
	if diff := cmp.Diff(map[string]Action{"/run": ActionExpire, "/run/rdzv/k": ActionExpire}, ended); diff != "" {
		t.Errorf("watches saw (-want +got):\n%s", diff)
	}
	if u := w.tree.Usage(); u != (quota.Usage{}) {
		t.Errorf("still counted: %v", u)
	}
	w.tree.Expire(start.Add(100 * time.Second)) // the key below is not removed twice
	if u := w.tree.Usage(); u != (quota.Usage{}) {
		t.Errorf("counted below nothing: %v", u)
	}
}

func TestWatch(t *testing.T) {
	for name, c := range map[string]struct {
		path      string
		recursive bool
		from      uint64
		then      []string // keys written after the watch began
		want      string   // key and index
	}{
		"from now on, the next write of the key":            {"/d/k", false, 0, []string{"/d/x", "/d/k"}, "/d/k 104"},
		"from an index that is past, the first since":       {"/d/k", false, 101, nil, "/d/k 101"},
		"from the next index, what comes":                   {"/d/k", false, 103, []string{"/d/k"}, "/d/k 103"},
		"from an index to come, not before it":              {"/d/k", false, 104, []string{"/d/k", "/d/k"}, "/d/k 104"},
		"a folder sees what is below it if it is recursive": {"/d", true, 103, []string{"/e/k", "/d/k"}, "/d/k 104"},
		"a folder does not if it is not":                    {"/d", false, 103, []string{"/d/k"}, ""},
		"a name that only begins alike is not below":        {"/d", true, 103, []string{"/dd/k"}, ""},
		"the root sees all":                                 {"/", true, 103, []string{"/e"}, "/e 103"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.put(Write{Path: "/d/k"})
			w.put(Write{Path: "/d/k"})
			got := ""
			watch, err := w.tree.Watch(w.now, c.path, c.recursive, c.from, func(e *Event) { got += fmt.Sprint(e.Node.Path, " ", e.Index) })
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range append(c.then, "/last", "/last") {
				w.put(Write{Path: p})
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			w.tree.Unwatch(watch)
			if w.tree.Watches() != 0 {
				t.Errorf("%d watches are left", w.tree.Watches())
			}
		})
	}
}

func TestARefreshIsNoEvent(t *testing.T) {
	w := newWorld(t)
	w.put(Write{Path: "/k", Value: "v", TTL: ttl(10)})
	if _, err := w.tree.Watch(w.now, "/k", false, 102, func(e *Event) { t.Errorf("saw %+v", e) }); err != nil {
		t.Fatal(err)
	}
	if e := w.put(Write{Path: "/k", Refresh: true, Exist: Present, TTL: ttl(20)}); e.Node.Value != "v" {
		t.Errorf("the value is gone: %+v", e.Node)
	}
}

func TestWatchesThatLookBackTooFarAreTold(t *testing.T) {
	w := newWorld(t)
	for range kept + 1 {
		w.put(Write{Path: "/k"})
	}
	look := func(from uint64) Code {
		_, err := w.tree.Watch(w.now, "/k", false, from, func(*Event) {})
		return w.code(err)
	}
	if look(101) != CodeCleared || look(102) != 0 || look(100) != CodeCleared {
		t.Errorf("101: %d, 102: %d, before the tree began: %d", look(101), look(102), look(100))
	}
}

func TestLargeEventsAreKeptForAShorterTime(t *testing.T) {
	w := newWorld(t)
	for range 20 {
		w.put(Write{Path: "/k", Value: strings.Repeat("x", 1<<20)})
	}
	if w.tree.history.bytes > keptBytes {
		t.Errorf("%d bytes are kept", w.tree.history.bytes)
	}
}

func TestQuota(t *testing.T) {
	tree := New(0, quota.Limits{Keys: 3})
	if err := tree.MakeFolder("/shared"); err != nil {
		t.Fatal(err)
	}
	write := func(p string) error { _, err := tree.Put(start, "job", Write{Path: p}); return err }
	if err := errors.Join(write("/shared/a"), write("/shared/b/c")); err != nil {
		t.Fatal(err)
	}
	if err := write("/shared/d"); !errors.Is(err, quota.ErrExceeded) {
		t.Errorf("the fourth key: %v", err)
	}
	if _, err := tree.Delete(start, Removal{Path: "/shared/b", Recursive: true}); err != nil {
		t.Fatal(err)
	}
	if err := write("/shared/d"); err != nil {
		t.Errorf("after two were deleted: %v", err)
	}
}

func TestRefreshingForeverTakesNoMoreMemory(t *testing.T) {
	w := newWorld(t)
	w.put(Write{Path: "/k", TTL: ttl(10)})
	for range 10000 {
		w.now = w.now.Add(time.Millisecond)
		w.put(Write{Path: "/k", Refresh: true, Exist: Present, TTL: ttl(7200)})
	}
	if len(w.tree.due) > 64 {
		t.Errorf("%d expiries are kept for one key", len(w.tree.due))
	}
}

package exclusion

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
)

func read(t *testing.T, hosts ...string) Set {
	t.Helper()
	set, err := Read(memory.FormatHosts(hosts))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestSetHasTheNodesOfTheAnnotation(t *testing.T) {
	set := read(t, "b", "a", "b")
	if !set.Has("a") || !set.Has("b") || set.Has("c") || set.Has("") {
		t.Errorf("%v has a wrong node", set.Sorted())
	}
	if diff := cmp.Diff([]string{"a", "b"}, set.Sorted()); diff != "" || set.Len() != 2 {
		t.Errorf("%d nodes: %s", set.Len(), diff)
	}
}

func TestZeroSetIsEmpty(t *testing.T) {
	var set Set
	if set.Has("a") || set.Len() != 0 {
		t.Error("it excludes a node")
	}
}

func TestInvalidAnnotationExcludesNoNode(t *testing.T) {
	for name, value := range map[string]string{
		"nothing":            "",
		"no array":           `{"a":1}`,
		"cut short":          `["a",`,
		"as large as can be": `["` + strings.Repeat("a", 256<<10) + `"]`,
	} {
		t.Run(name, func(t *testing.T) {
			if set, err := Read(value); err == nil || set.Len() != 0 {
				t.Errorf("%v, %v", set.Sorted(), err)
			}
		})
	}
}

func TestLeavesNone(t *testing.T) {
	for name, c := range map[string]struct {
		excluded, nodes []string
		want            bool
	}{
		"one of two is left":                          {[]string{"a"}, []string{"a", "b"}, false},
		"the only node is excluded":                   {[]string{"a"}, []string{"a"}, true},
		"all of three are excluded, and some more":    {[]string{"a", "b", "c", "gone"}, []string{"a", "b", "c"}, true},
		"many exclusions of nodes that are not there": {[]string{"x", "y", "z"}, []string{"a"}, false},
		"nobody is excluded":                          {nil, []string{"a"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := read(t, c.excluded...).LeavesNone(len(c.nodes), func(i int) string { return c.nodes[i] }); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestOpensMoreThan(t *testing.T) {
	for name, c := range map[string]struct {
		now, before []string
		want        bool
	}{
		"nothing has changed":           {[]string{"a"}, []string{"a"}, false},
		"one more is excluded":          {[]string{"a", "b"}, []string{"a"}, false},
		"one is open again":             {[]string{"a"}, []string{"a", "b"}, true},
		"all are open again":            {nil, []string{"a"}, true},
		"another one instead":           {[]string{"b"}, []string{"a"}, true},
		"the first exclusion of a pod":  {[]string{"a"}, nil, false},
		"there were none and are still": {nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := read(t, c.now...).OpensMoreThan(read(t, c.before...)); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestHasAllocatesNothing(t *testing.T) {
	set := read(t, "a", "b")
	nodes := make([]string, 100)
	for i := range nodes {
		nodes[i] = fmt.Sprint(i)
	}
	if n := testing.AllocsPerRun(100, func() {
		for _, node := range nodes {
			set.Has(node)
		}
		set.LeavesNone(len(nodes), func(i int) string { return nodes[i] })
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{`["a"]`, `null`, `[null]`, `{}`, `["a"`, `["b","a","b"]`, ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		set, err := Read(value)
		if err != nil {
			if set.Len() != 0 {
				t.Errorf("%q cannot be read, and excludes %v", value, set.Sorted())
			}
			return
		}
		if set.Len() > memory.MaxHosts {
			t.Errorf("%d nodes", set.Len())
		}
		for _, node := range set.Sorted() {
			if !set.Has(node) {
				t.Errorf("%q is listed and not in the set", node)
			}
		}
	})
}

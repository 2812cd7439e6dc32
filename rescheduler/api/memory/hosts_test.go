package memory

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseHosts(t *testing.T) {
	many := make([]string, 60)
	for i := range many {
		many[i] = fmt.Sprintf("node-%02d", i)
	}
	for name, c := range map[string]struct {
		value string
		want  []string
	}{
		"names are sorted and deduplicated":       {`["b","a","b"]`, []string{"a", "b"}},
		"an empty list is an empty list":          {`[]`, []string{}},
		"null is an empty list":                   {`null`, []string{}},
		"invalid node names are dropped":          {`["","a","` + strings.Repeat("x", 254) + `"]`, []string{"a"}},
		"a list above the limit is truncated":     {text(many), many[:MaxHosts]},
		"white space around the array is ignored": {" [ \"a\" ] ", []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseHosts(c.value)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInvalidHostsExcludeNothing(t *testing.T) {
	for name, value := range map[string]string{
		"an empty value":             "",
		"a bare name":                "node-1",
		"an object":                  `{"deployScheduledHosts":["a"]}`,
		"numbers":                    `[1]`,
		"an array that does not end": `["a"`,
		"text after the array":       `["a"] x`,
		"a value of 256 KiB":         `["` + strings.Repeat("x", 256<<10) + `"]`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseHosts(value); err == nil {
				t.Error("parsed without an error")
			}
			if got := Hosts(map[string]string{HostsAnnotation: value}); got != nil {
				t.Errorf("excludes %v", got)
			}
		})
	}
}

func TestTooLongHostsAreNotParsed(t *testing.T) {
	if _, err := ParseHosts(strings.Repeat(" ", MaxHostsBytes+1)); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("got %v", err)
	}
}

func TestHostsWithoutAnnotation(t *testing.T) {
	if got := Hosts(nil); got != nil {
		t.Errorf("got %v", got)
	}
}

func TestLargestListFitsLimit(t *testing.T) {
	hosts := make([]string, MaxHosts)
	for i := range hosts {
		hosts[i] = fmt.Sprintf("%0253d", i)
	}
	got, err := ParseHosts(FormatHosts(hosts))
	if err != nil || !slices.Equal(got, hosts) {
		t.Errorf("parsed %d hosts, error %v", len(got), err)
	}
}

func TestMergeHosts(t *testing.T) {
	many := make([]string, MaxHosts)
	for i := range many {
		many[i] = fmt.Sprintf("z-%02d", i)
	}
	for name, c := range map[string]struct{ first, second, want []string }{
		"a union":                        {[]string{"b"}, []string{"a", "b"}, []string{"a", "b"}},
		"two empty lists":                {nil, nil, []string{}},
		"the first list comes first":     {many, []string{"a"}, many},
		"the second list fills the rest": {many[1:], []string{"a", "b"}, append([]string{"a"}, many[1:]...)},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, MergeHosts(c.first, c.second)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzParseHosts(f *testing.F) {
	for _, seed := range []string{`["a"]`, `null`, `[null]`, `{}`, `"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		hosts, err := ParseHosts(value)
		if err != nil {
			return
		}
		again, err := ParseHosts(FormatHosts(hosts))
		if err != nil || !slices.Equal(hosts, again) {
			t.Errorf("%q became %v, %v", hosts, again, err)
		}
	})
}

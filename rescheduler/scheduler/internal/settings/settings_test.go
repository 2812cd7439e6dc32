package settings

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func defaults() Args {
	clear := true
	return Args{Strategy: Filter, OnExhaustion: Relax, RelaxedForSeconds: 300, ClearAnnotation: &clear}
}

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		change func(*Args)
	}{
		"nothing":                    {"", func(*Args) {}},
		"an empty object":            {"{}", func(*Args) {}},
		"null":                       {"null", func(*Args) {}},
		"JSON":                       {`{"strategy":"PreFilterResult"}`, func(a *Args) { a.Strategy = PreFilterResult }},
		"YAML":                       {"onExhaustion: Wait\n", func(a *Args) { a.OnExhaustion = Wait }},
		"the kind":                   {"kind: PodReschedulingArgs", func(a *Args) { a.Kind = Kind }},
		"an annotation that is kept": {"clearAnnotation: false", func(a *Args) { *a.ClearAnnotation = false }},
		"seconds":                    {"relaxedForSeconds: 10", func(a *Args) { a.RelaxedForSeconds = 10 }},
	} {
		t.Run(name, func(t *testing.T) {
			want := defaults()
			c.change(&want)
			got, err := Read([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInvalidArguments(t *testing.T) {
	for name, c := range map[string]struct{ text, names string }{
		"a field that does not exist": {"strategie: Filter", `"strategie"`},
		"a field twice":               {"strategy: Filter\nstrategy: Filter", `"strategy"`},
		"no object":                   {"[]", "array"},
		"another strategy":            {"strategy: Score", "args.strategy"},
		"another end":                 {"onExhaustion: Preempt", "args.onExhaustion"},
		"no time at all":              {"relaxedForSeconds: -1", "args.relaxedForSeconds"},
		"too long":                    {"relaxedForSeconds: 86401", "args.relaxedForSeconds"},
		"another kind":                {"kind: CoschedulingArgs", "args.kind"},
		"seconds that are none":       {"relaxedForSeconds: 5m", "relaxedForSeconds"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read([]byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.names) {
				t.Errorf("want an error about %s, got %v", c.names, err)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{"", "{}", "strategy: Filter", "relaxedForSeconds: 1e3", "[", "clearAnnotation: null"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		args, err := Read(text)
		if err != nil {
			return
		}
		if err := args.validate().ToAggregate(); err != nil || args.ClearAnnotation == nil {
			t.Errorf("%q was read as %+v: %v", text, args, err)
		}
	})
}

package interpreter

import (
	"testing"

	lua "github.com/yuin/gopher-lua"
)

// The reference is the interpreter's own string.match, which is exact but slow.
func TestPatternsMatchAsInLua(t *testing.T) {
	state := lua.NewState()
	defer state.Close()
	own := state.GetGlobal("string").(*lua.LTable).RawGetString("match")
	ours := state.NewFunction(match)
	call := func(f lua.LValue, text, pattern string) []string {
		base := state.GetTop()
		if err := state.CallByParam(lua.P{Fn: f, NRet: lua.MultRet, Protect: true}, lua.LString(text), lua.LString(pattern)); err != nil {
			t.Fatalf("%q in %q: %v", pattern, text, err)
		}
		var values []string
		if state.GetTop() == base {
			return []string{"nil"} // the interpreter returns no values if there is no match
		}
		for state.GetTop() > base {
			values = append(values, state.Get(base+1).String())
			state.Remove(base + 1)
		}
		return values
	}
	texts := []string{
		"", "2 i1 1 7 A 3 1 1 0,1 0|1 0 1700000000000 1 07", "2 i1 1 7 A 3 1 1 - 0|1 0 0 0 ", "2 i1 1 7 A 3 1 1 - 0|1 0 0 0 8", "2 i1 1 7 A 3 1 1 - 0",
		"12 3", "12 3 ", "a\vb 1 1", "pod/c1 4 1", "pod/c1 4 1\n", "pod c1 4 1", "|", "\xff 1 0", "\x00 1 0", "nw",
	}
	for _, pattern := range []string{
		`^2 (%w+) (%d+) (%d+) (%u) (%d+) (%d+) (%d+) ([%d,-]+) (%d+)|(%d+) (%d+) (%d+) ([01]) ([0-7]*)$`, `^[^|]+`, `^(%S+) (%d+) ([01])$`,
		`^(%d+) (%d+)$`, `^2 %w+ %d+ (%d+) `, `n`,
	} {
		for _, text := range texts {
			want, got := call(own, text, pattern), call(ours, text, pattern)
			if len(want) != len(got) {
				t.Errorf("%q in %q: %q, want %q", pattern, text, got, want)
				continue
			}
			for i := range want {
				if want[i] != got[i] {
					t.Errorf("%q in %q: %q, want %q", pattern, text, got, want)
				}
			}
		}
	}
	for _, pattern := range []string{`a.b`, `a-`, `%a`, `%`, `a?`} {
		if text, known := translate(pattern); known {
			t.Errorf("%q is translated to %q", pattern, text)
		}
	}
}

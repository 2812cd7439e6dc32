package state

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadPickle(t *testing.T) {
	for name, c := range map[string]struct {
		input string
		want  any
	}{
		"None":                          {"\x80\x04N.", nil},
		"True, with its offset":         {"\x80\x04\x88.", boolean{true, 2}},
		"False":                         {"\x80\x04\x89.", boolean{false, 2}},
		"a byte":                        {"K\xff.", int64(255)},
		"two bytes":                     {"M\x2c\x01.", int64(300)},
		"a negative number":             {"J\xff\xff\xff\xff.", int64(-1)},
		"a long number":                 {"\x8a\x05\x00\x00\x00\x00\x01.", nil},
		"a float":                       {"G\x3f\xf8\x00\x00\x00\x00\x00\x00.", nil},
		"a string":                      {"\x8c\x02hi.", "hi"},
		"a string with a longer length": {"X\x02\x00\x00\x00hi.", "hi"},
		"bytes":                         {"C\x02hi.", nil},
		"bytes with a longer length":    {"B\x02\x00\x00\x00hi.", nil},
		"a tuple":                       {"K\x01K\x02\x86.", &collection{items: []any{int64(1), int64(2)}}},
		"a tuple from a mark":           {"(K\x01K\x02t.", &collection{items: []any{int64(1), int64(2)}}},
		"a list":                        {"](K\x01K\x02e.", &collection{items: []any{int64(1), int64(2)}}},
		"a list of one item":            {"]K\x01a.", &collection{items: []any{int64(1)}}},
		"a set":                         {"\x8f(K\x01\x90.", &collection{items: []any{int64(1)}}},
		"a frozen set":                  {"(K\x01\x91.", &collection{items: []any{int64(1)}}},
		"a dictionary":                  {"}(\x8c\x01aK\x01u.", &collection{items: []any{"a", int64(1)}, dictionary: true}},
		"a dictionary of one item":      {"}\x8c\x01aK\x01s.", &collection{items: []any{"a", int64(1)}, dictionary: true}},
		"a global in lines":             {"cm\nC\n.", nil},
		"a global on the stack":         {"\x8c\x01m\x8c\x01C\x93.", nil},
		"an instance with its state": {"cm\nC\n)\x81}\x8c\x01aNsb.", &instance{
			args: &collection{}, state: &collection{items: []any{"a", nil}, dictionary: true},
		}},
		"an instance with keyword arguments": {"cm\nC\n)}\x92.", &instance{args: &collection{}}},
		"a call":                             {"cm\nf\nK\x01\x85R.", &instance{args: &collection{items: []any{int64(1)}}}},
		"a memo entry":                       {"\x8c\x01a\x94h\x00\x86.", &collection{items: []any{"a", "a"}}},
		"a numbered memo entry":              {"\x8c\x01aq\x05h\x05\x86.", &collection{items: []any{"a", "a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := read([]byte(c.input))
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(boolean{}, collection{}, instance{})); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestReadPickleRejects(t *testing.T) {
	for name, input := range map[string]string{
		"nothing":                         "",
		"no end":                          "N",
		"an end without a value":          ".",
		"a string longer than the pickle": "\x8c\xffhi.",
		"a length beyond most memory":     "X\xff\xff\xff\xffhi.",
		"an unsupported opcode":           "P1\n.",
		"items without a mark":            "]e.",
		"an item without a list":          "NNa.",
		"a state without an instance":     "NNb.",
		"an unknown memo entry":           "h\x01.",
		"a memo entry without a value":    "\x94.",
		"a global without an end":         "cm\nC",
		"too many operations":             strings.Repeat("N", maxOperations) + ".",
	} {
		t.Run(name, func(t *testing.T) {
			if v, err := read([]byte(input)); err == nil {
				t.Errorf("got %v", v)
			}
		})
	}
}

func TestAttribute(t *testing.T) {
	o := &instance{state: &collection{items: []any{"a", "old", int64(1), nil, "a", "new", "a"}}}
	if v := o.attribute("a"); v != "new" {
		t.Errorf("got %v", v)
	}
	if v := o.attribute("b"); v != nil {
		t.Errorf("a missing attribute is %v", v)
	}
	if v := (&instance{state: "text"}).attribute("a"); v != nil {
		t.Errorf("a state that is not a dictionary has the attribute %v", v)
	}
}

// FuzzRead checks that every input is read or rejected, and that the recorded offsets of booleans are correct.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"\x80\x04\x88.", "}(\x8c\x01aK\x01u.", "cm\nC\n)\x81}\x8c\x01a\x89sb.", "\x8f(K\x01\x90.", "](h\x00e."} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		v, err := read(input)
		if b, ok := v.(boolean); ok && err == nil && (input[b.at] == opTrue) != b.value {
			t.Errorf("%v does not match the opcode at offset %d", b.value, b.at)
		}
	})
}

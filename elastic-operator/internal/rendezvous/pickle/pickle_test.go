package pickle

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		input string
		want  any
	}{
		"None":                          {"\x80\x04N.", nil},
		"True, with its offset":         {"\x80\x04\x88.", Bool{true, 2}},
		"False":                         {"\x80\x04\x89.", Bool{false, 2}},
		"a byte":                        {"K\xff.", int64(255)},
		"two bytes":                     {"M\x2c\x01.", int64(300)},
		"a negative number":             {"J\xff\xff\xff\xff.", int64(-1)},
		"a long number":                 {"\x8a\x05\x00\x00\x00\x00\x01.", int64(1) << 32},
		"a negative long number":        {"\x8a\x01\xfe.", int64(-2)},
		"a long number of zero bytes":   {"\x8a\x00.", int64(0)},
		"a float":                       {"G\x3f\xf8\x00\x00\x00\x00\x00\x00.", 1.5},
		"a string":                      {"\x8c\x02hi.", "hi"},
		"a string with a longer length": {"X\x02\x00\x00\x00hi.", "hi"},
		"bytes":                         {"C\x02hi.", []byte("hi")},
		"a tuple":                       {"K\x01K\x02\x86.", Tuple{int64(1), int64(2)}},
		"a tuple from a mark":           {"(K\x01K\x02t.", Tuple{int64(1), int64(2)}},
		"a list":                        {"](K\x01K\x02e.", &List{Items: []any{int64(1), int64(2)}}},
		"a list of one item":            {"]K\x01a.", &List{Items: []any{int64(1)}}},
		"a set":                         {"\x8f(K\x01\x90.", &List{Items: []any{int64(1)}}},
		"a frozen set":                  {"(K\x01\x91.", &List{Items: []any{int64(1)}}},
		"a dictionary":                  {"}(\x8c\x01aK\x01u.", &Dict{Keys: []any{"a"}, Values: []any{int64(1)}}},
		"a dictionary of one item":      {"}\x8c\x01aK\x01s.", &Dict{Keys: []any{"a"}, Values: []any{int64(1)}}},
		"a global in lines":             {"cm\nC\n.", Global{}},
		"a global on the stack":         {"\x8c\x01m\x8c\x01C\x93.", Global{}},
		"an instance with its state":    {"cm\nC\n)\x81}\x8c\x01aNsb.", &Object{Args: Tuple{}, State: &Dict{Keys: []any{"a"}, Values: []any{nil}}}},
		"a call":                        {"cm\nf\nK\x01\x85R.", &Object{Args: Tuple{int64(1)}}},
		"a memo entry":                  {"\x8c\x01a\x94h\x00\x86.", Tuple{"a", "a"}},
		"a numbered memo entry":         {"\x8c\x01aq\x05h\x05\x86.", Tuple{"a", "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Read([]byte(c.input))
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestReadRejects(t *testing.T) {
	for name, input := range map[string]string{
		"nothing":                         "",
		"no end":                          "N",
		"an end without a value":          ".",
		"a string longer than the pickle": "\x8c\xffhi.",
		"a length beyond any memory":      "\x8d\xff\xff\xff\xff\xff\xff\xff\xffhi.",
		"an unsupported opcode":           "P1\n.",
		"a number beyond 64 bits":         "\x8a\x09123456789.",
		"a mark as the value":             "(.",
		"a tuple that contains a mark":    "(\x85.",
		"items without a mark":            "]e.",
		"an item without a list":          "NNa.",
		"a key without a value":           "}(Nu.",
		"a state without an instance":     "NNb.",
		"an unknown memo entry":           "h\x01.",
		"a memo entry without a value":    "\x94.",
		"a global without an end":         "cm\nC",
		"too many operations":             strings.Repeat("N", maxOperations) + ".",
	} {
		t.Run(name, func(t *testing.T) {
			if v, err := Read([]byte(input)); !errors.Is(err, ErrMalformed) {
				t.Errorf("got %v, %v", v, err)
			}
		})
	}
}

func TestAttribute(t *testing.T) {
	o := &Object{State: &Dict{Keys: []any{"a", int64(1), "a"}, Values: []any{"old", nil, "new"}}}
	if v := o.Attribute("a"); v != "new" {
		t.Errorf("got %v", v)
	}
	if v := o.Attribute("b"); v != nil {
		t.Errorf("a missing attribute is %v", v)
	}
	if v := (&Object{State: "text"}).Attribute("a"); v != nil {
		t.Errorf("a state that is not a dictionary has the attribute %v", v)
	}
}

// FuzzRead checks that no input causes a panic, and that the recorded offsets of booleans are correct.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"\x80\x04\x88.", "}(\x8c\x01aK\x01u.", "cm\nC\n)\x81}\x8c\x01a\x89sb.", "\x8f(K\x01\x90.", "](h\x00e."} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		v, err := Read(input)
		if b, ok := v.(Bool); ok && err == nil && (input[b.At] == OpTrue) != b.Value {
			t.Errorf("%v does not match the opcode at offset %d", b.Value, b.At)
		}
	})
}

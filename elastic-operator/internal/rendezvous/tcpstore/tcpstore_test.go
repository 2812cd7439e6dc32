package tcpstore

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

var limits = Limits{Key: 64, Value: 256, Keys: 8, Total: 512}

func TestSniff(t *testing.T) {
	for name, c := range map[string]struct {
		first []byte
		want  Dialect
	}{
		"a greeting is torch 2.3":            {[]byte{0, 0xCE, 0xF7, 0x85, 0x3C}, Validated},
		"the byte 0 alone is undecided":      {[]byte{0}, Undecided},
		"half a greeting is undecided":       {[]byte{0, 0xCE, 0xF7}, Undecided},
		"a set of a short key is torch 1.13": {[]byte{0, 9, 0, 0, 0}, Classic},
		"a compare-and-set is torch 1.13":    {[]byte{1}, Classic},
		"the last classic operation":         {[]byte{8}, Classic},
		"a number that no dialect has":       {[]byte{9}, Unknown},
		"a magic number before each message": {[]byte{0xCE, 0xF7, 0x85, 0x3C, 1}, Unknown},
		"HTTP is unknown":                    {[]byte("P"), Unknown},
		"a greeting of TLS is not ours":      {[]byte{0x16, 3, 1}, Unknown},
		"a byte beyond the operations":       {[]byte{0x40}, Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Sniff(c.first); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// requests has each operation once.
func requests() map[string]Request {
	return map[string]Request{
		"set":         {Op: OpSet, Keys: []string{"/a"}, Values: [][]byte{[]byte("1")}},
		"compare-set": {Op: OpCompareSet, Keys: []string{"/a"}, Values: [][]byte{nil, []byte("2")}},
		"get":         {Op: OpGet, Keys: []string{"/a"}},
		"add":         {Op: OpAdd, Keys: []string{"/a"}, Number: -3},
		"check":       {Op: OpCheck, Keys: []string{"/a", "/b"}},
		"wait":        {Op: OpWait, Keys: []string{"/a", "/b"}},
		"count":       {Op: OpCount},
		"delete":      {Op: OpDelete, Keys: []string{"/a"}},
		"append":      {Op: OpAppend, Keys: []string{"/a"}, Values: [][]byte{[]byte("x")}},
		"multi-get":   {Op: OpMultiGet, Keys: []string{"/a", "/b"}},
		"multi-set":   {Op: OpMultiSet, Keys: []string{"/a", "/b"}, Values: [][]byte{[]byte("1"), []byte("2")}},
		"cancel-wait": {Op: OpCancelWait},
		"ping":        {Op: OpPing, Nonce: 77},
	}
}

func encode(t *testing.T, d Dialect, q Request) []byte {
	t.Helper()
	b, err := Append(nil, d, q)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestReaderReadsMessagesInPieces(t *testing.T) {
	for name, q := range requests() {
		for _, d := range []Dialect{Classic, Validated} {
			if _, err := Append(nil, d, q); err != nil {
				continue // an operation that the classic dialect does not have
			}
			t.Run(d.String()+" "+name, func(t *testing.T) {
				var stream []byte
				if d == Validated {
					stream = Greeting()
				}
				stream = append(append(stream, encode(t, d, q)...), encode(t, d, q)...)
				r := NewReader(iotest.OneByteReader(bytes.NewReader(stream)), d, limits)
				if d == Validated {
					if got, err := r.Next(); err != nil || got.Op != OpValidate {
						t.Fatalf("greeting: %v, %v", got, err)
					}
				}
				for range 2 {
					got, err := r.Next()
					if diff := cmp.Diff(q, got, cmp.Comparer(bytes.Equal)); diff != "" || err != nil {
						t.Fatalf("error %v (-want +got):\n%s", err, diff)
					}
				}
				if _, err := r.Next(); err != io.EOF {
					t.Errorf("at the end: %v", err)
				}
			})
		}
	}
}

// What torch 1.13.1 sends for TCPStore.compare_set("k", "", "v").
func TestClassicFramingByteByByte(t *testing.T) {
	want := []byte{1, 2, 0, 0, 0, 0, 0, 0, 0, '/', 'k', 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 'v'}
	got := encode(t, Classic, Request{Op: OpCompareSet, Keys: []string{"/k"}, Values: [][]byte{nil, []byte("v")}})
	if !bytes.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestReaderRejects(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 300)
	for name, c := range map[string]struct {
		dialect Dialect
		stream  []byte
		want    error
	}{
		"a key that is too long":            {Classic, encode(t, Classic, Request{Op: OpGet, Keys: []string{string(long)}}), ErrTooLarge},
		"a value that is too long":          {Classic, encode(t, Classic, Request{Op: OpSet, Keys: []string{"/a"}, Values: [][]byte{long}}), ErrTooLarge},
		"a length beyond all memory":        {Classic, []byte{2, 255, 255, 255, 255, 255, 255, 255, 255}, ErrTooLarge},
		"a list that is too long":           {Classic, []byte{5, 9, 0, 0, 0, 0, 0, 0, 0}, ErrTooLarge},
		"values that are too long together": {Validated, append(Greeting(), encode(t, Validated, Request{Op: OpMultiSet, Keys: []string{"a", "b", "c"}, Values: [][]byte{long[:250], long[:250], long[:250]}})...), ErrTooLarge},
		"half a message":                    {Classic, []byte{2, 9, 0}, io.ErrUnexpectedEOF},
		"a subscription":                    {Classic, []byte{7}, ErrNotServed},
		"a queue":                           {Validated, append(Greeting(), 14), ErrNotServed},
		"no greeting where there is one":    {Validated, []byte{12}, ErrBadPlacement},
		"another magic number":              {Validated, []byte{0, 1, 2, 3, 4}, ErrBadMagic},
		"a greeting in the middle":          {Validated, append(Greeting(), Greeting()...), ErrBadPlacement},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReader(bytes.NewReader(c.stream), c.dialect, limits)
			_, err := r.Next()
			if err == nil {
				_, err = r.Next()
			}
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

// Whatever a client sends, reading ends, and what was read is what Append writes.
func FuzzReader(f *testing.F) {
	for _, q := range requests() {
		for _, d := range []Dialect{Classic, Validated} {
			if b, err := Append(nil, d, q); err == nil {
				f.Add(d == Validated, append(b, b...))
			}
		}
	}
	f.Fuzz(func(t *testing.T, validated bool, stream []byte) {
		d := Classic
		if validated {
			d, stream = Validated, append(Greeting(), stream...)
		}
		r := NewReader(bytes.NewReader(stream), d, limits)
		var written []byte
		for {
			q, err := r.Next()
			if err != nil {
				break
			}
			written, err = Append(written, d, q)
			if err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.HasPrefix(stream, written) {
			t.Errorf("read %x, which is not what was sent: %x", written, stream)
		}
	})
}

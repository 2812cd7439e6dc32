package tcpstore_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/tcpstore"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/testing/tcpclient"
)

const maxValue = 256

func TestSniff(t *testing.T) {
	for name, c := range map[string]struct {
		first []byte
		want  tcpstore.Dialect
	}{
		"a greeting is torch 2.3":            {[]byte{0, 0xCE, 0xF7, 0x85, 0x3C}, tcpstore.Validated},
		"the byte 0 alone is undecided":      {[]byte{0}, tcpstore.Undecided},
		"half a greeting is undecided":       {[]byte{0, 0xCE, 0xF7}, tcpstore.Undecided},
		"a set of a short key is torch 1.13": {[]byte{0, 9, 0, 0, 0}, tcpstore.Classic},
		"a compare-and-set is torch 1.13":    {[]byte{1}, tcpstore.Classic},
		"a deletion is torch 1.13":           {[]byte{8}, tcpstore.Classic},
		"a number in no dialect":             {[]byte{9}, tcpstore.Unknown},
		"a magic number before each message": {[]byte{0xCE, 0xF7, 0x85, 0x3C, 1}, tcpstore.Unknown},
		"HTTP is unknown":                    {[]byte("P"), tcpstore.Unknown},
		"a TLS greeting is unknown":          {[]byte{0x16, 3, 1}, tcpstore.Unknown},
		"a byte beyond the operations":       {[]byte{0x40}, tcpstore.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tcpstore.Sniff(c.first); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// requests returns one request for each operation.
func requests() map[string]tcpstore.Request {
	return map[string]tcpstore.Request{
		"set":         {Op: tcpstore.OpSet, Keys: []string{"/a"}, Values: [][]byte{[]byte("1")}},
		"compare-set": {Op: tcpstore.OpCompareSet, Keys: []string{"/a"}, Values: [][]byte{nil, []byte("2")}},
		"get":         {Op: tcpstore.OpGet, Keys: []string{"/a"}},
		"add":         {Op: tcpstore.OpAdd, Keys: []string{"/a"}, Number: -3},
		"check":       {Op: tcpstore.OpCheck, Keys: []string{"/a", "/b"}},
		"wait":        {Op: tcpstore.OpWait, Keys: []string{"/a", "/b"}},
		"delete":      {Op: tcpstore.OpDelete, Keys: []string{"/a"}},
		"multi-get":   {Op: tcpstore.OpMultiGet, Keys: []string{"/a", "/b"}},
		"multi-set":   {Op: tcpstore.OpMultiSet, Keys: []string{"/a", "/b"}, Values: [][]byte{[]byte("1"), []byte("2")}},
		"cancel-wait": {Op: tcpstore.OpCancelWait},
		"ping":        {Op: tcpstore.OpPing, Number: 77},
	}
}

func encode(t *testing.T, d tcpstore.Dialect, q tcpstore.Request) []byte {
	t.Helper()
	b, err := tcpclient.Append(nil, d, q)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestReaderReadsMessagesInPieces(t *testing.T) {
	for name, q := range requests() {
		for _, d := range []tcpstore.Dialect{tcpstore.Classic, tcpstore.Validated} {
			if _, err := tcpclient.Append(nil, d, q); err != nil {
				continue // an operation that the classic dialect does not have
			}
			t.Run(string(d)+" "+name, func(t *testing.T) {
				stream := append(encode(t, d, q), encode(t, d, q)...)
				r := tcpstore.NewReader(iotest.OneByteReader(bytes.NewReader(stream)), d, maxValue)
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

// The encoding must equal what torch 1.13.1 sends for TCPStore.compare_set("k", "", "v").
func TestClassicFramingByteByByte(t *testing.T) {
	want := []byte{1, 2, 0, 0, 0, 0, 0, 0, 0, '/', 'k', 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 'v'}
	got := encode(t, tcpstore.Classic, tcpstore.Request{Op: tcpstore.OpCompareSet, Keys: []string{"/k"}, Values: [][]byte{nil, []byte("v")}})
	if !bytes.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The server's memory limit counts only the length of a value, so a value must not occupy much more memory than that.
func TestValuesOccupyTheirLength(t *testing.T) {
	stream := encode(t, tcpstore.Classic, tcpstore.Request{Op: tcpstore.OpSet, Keys: []string{"/k"}, Values: [][]byte{[]byte("value")}})
	r := tcpstore.NewReader(bytes.NewReader(stream), tcpstore.Classic, maxValue)
	request, err := r.Next()
	if err != nil || len(request.Values) != 1 || string(request.Values[0]) != "value" {
		t.Fatalf("got %+v, %v", request, err)
	}
	if n := cap(request.Values[0]); n > 64 {
		t.Errorf("a value of 5 bytes occupies %d", n)
	}
}

func TestReaderRejects(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 5000)
	for name, c := range map[string]struct {
		dialect tcpstore.Dialect
		stream  []byte
		want    error
	}{
		"a key that is too long":            {tcpstore.Classic, encode(t, tcpstore.Classic, tcpstore.Request{Op: tcpstore.OpGet, Keys: []string{string(long)}}), tcpstore.ErrTooLarge},
		"a value that is too long":          {tcpstore.Classic, encode(t, tcpstore.Classic, tcpstore.Request{Op: tcpstore.OpSet, Keys: []string{"/a"}, Values: [][]byte{long}}), tcpstore.ErrTooLarge},
		"a length beyond any memory":        {tcpstore.Classic, []byte{2, 255, 255, 255, 255, 255, 255, 255, 255}, tcpstore.ErrTooLarge},
		"a list that is too long":           {tcpstore.Classic, []byte{5, 1, 64, 0, 0, 0, 0, 0, 0}, tcpstore.ErrTooLarge},
		"values that are too long in total": {tcpstore.Validated, encode(t, tcpstore.Validated, tcpstore.Request{Op: tcpstore.OpMultiSet, Keys: []string{"a", "b", "c"}, Values: [][]byte{long[:250], long[:250], long[:250]}}), tcpstore.ErrTooLarge},
		"half a message":                    {tcpstore.Classic, []byte{2, 9, 0}, io.ErrUnexpectedEOF},
		"a subscription":                    {tcpstore.Classic, []byte{7}, tcpstore.ErrNotServed},
		"an appended value":                 {tcpstore.Validated, []byte{9}, tcpstore.ErrNotServed},
		"a queue":                           {tcpstore.Validated, []byte{14}, tcpstore.ErrNotServed},
		"a second greeting":                 {tcpstore.Validated, tcpclient.Greeting(), tcpstore.ErrNotServed},
	} {
		t.Run(name, func(t *testing.T) {
			r := tcpstore.NewReader(bytes.NewReader(c.stream), c.dialect, maxValue)
			if _, err := r.Next(); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

// FuzzReader checks that reading terminates for any input, and that Append encodes a request to the bytes that
// were read.
func FuzzReader(f *testing.F) {
	for _, q := range requests() {
		for _, d := range []tcpstore.Dialect{tcpstore.Classic, tcpstore.Validated} {
			if b, err := tcpclient.Append(nil, d, q); err == nil {
				f.Add(d == tcpstore.Validated, append(b, b...))
			}
		}
	}
	f.Fuzz(func(t *testing.T, validated bool, stream []byte) {
		d := tcpstore.Classic
		if validated {
			d = tcpstore.Validated
		}
		r := tcpstore.NewReader(bytes.NewReader(stream), d, maxValue)
		var written []byte
		for {
			q, err := r.Next()
			if err != nil {
				break
			}
			written, err = tcpclient.Append(written, d, q)
			if err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.HasPrefix(stream, written) {
			t.Errorf("read %x, which differs from what was sent: %x", written, stream)
		}
	})
}

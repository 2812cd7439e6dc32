package state

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// file returns a pickle from testdata, encoded as torch stores it.
func file(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".pickle"))
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b)
}

func running() State {
	return State{Round: 300, Complete: true, Participants: 4, Waiting: 1}
}

func TestParse(t *testing.T) {
	closed := running()
	closed.Closed = true
	for name, want := range map[string]State{
		"running": running(), "closed": closed, "fresh": {}, "joining": {Participants: 1},
	} {
		for _, protocol := range []string{"2", "4", "5"} {
			t.Run(name+", pickle protocol "+protocol, func(t *testing.T) {
				got, err := Parse(file(t, name+"-"+protocol))
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("error %v (-want +got):\n%s", err, diff)
				}
			})
		}
	}
	for name, text := range map[string]string{"nothing": "", "the sentinel": Sentinel} {
		t.Run(name+" is an open rendezvous", func(t *testing.T) {
			if got, err := Parse(text); err != nil || !cmp.Equal(got, State{}) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// Torch 1.13.1 wrote this state to etcd-v2 during a new round. Two agents have joined, and a third one is waiting.
func TestParseOfRealTorch(t *testing.T) {
	got, err := Parse(file(t, "torch-1.13"))
	if diff := cmp.Diff(State{Round: 4, Participants: 2, Waiting: 1}, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	opened, err := Open(file(t, "torch-1.13"))
	if err != nil || opened != file(t, "torch-1.13") {
		t.Errorf("an open rendezvous was changed: %v", err)
	}
}

func TestOpenChangesNothingElse(t *testing.T) {
	for _, protocol := range []string{"2", "4", "5"} {
		t.Run("pickle protocol "+protocol, func(t *testing.T) {
			got, err := Open(file(t, "closed-"+protocol))
			if want := file(t, "running-"+protocol); got != want || err != nil {
				t.Errorf("error %v\ngot  %s\nwant %s", err, got, want)
			}
			again, err := Open(got)
			if again != got || err != nil {
				t.Errorf("an open rendezvous was changed: %s, %v", again, err)
			}
		})
	}
}

func TestParseRejects(t *testing.T) {
	encode := func(pickle string) string { return base64.StdEncoding.EncodeToString([]byte(pickle)) }
	for name, text := range map[string]string{
		"not base64":                        "!",
		"not a pickle":                      encode("hello"),
		"a pickle of a number":              encode("K\x01."),
		"an instance without attributes":    encode("cm\nC\n)\x81."),
		"an instance with other attributes": encode("cm\nC\n)\x81}\x8c\x05roundK\x01sb."),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse(text); !errors.Is(err, ErrUnreadable) {
				t.Errorf("parsing: %v", err)
			}
			if _, err := Open(text); !errors.Is(err, ErrUnreadable) {
				t.Errorf("opening: %v", err)
			}
		})
	}
}

// Every state that can be parsed can also be opened. The opened state differs only in the closed flag.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"running-2", "closed-4", "joining-5", "fresh-4"} {
		b, err := os.ReadFile(filepath.Join("testdata", name+".pickle"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		text := base64.StdEncoding.EncodeToString(raw)
		before, err := Parse(text)
		if err != nil {
			return
		}
		opened, err := Open(text)
		if err != nil {
			t.Fatal(err)
		}
		after, err := Parse(opened)
		before.Closed = false
		if err != nil || after.Closed {
			t.Errorf("after it was opened: %+v, %v; before: %+v", after, err, before)
		}
	})
}

// TestParseBoundsMemory parses messages within the server's limits that a naive parser would expand beyond the 256 MiB of the pod.
func TestParseBoundsMemory(t *testing.T) {
	for name, c := range map[string]struct {
		pickle []byte
		nodes  int // -1 if it is rejected
	}{
		"nodes that share an address":      {sharedAddress(1<<20, 10_000), 10_000},
		"classes that share a long module": {[]byte("\x80\x02" + word(strings.Repeat("a", 1<<20)) + "q\x01(" + strings.Repeat("h\x01h\x01\x93", 1000) + "t."), -1},
		"values of one byte":               {[]byte(strings.Repeat("N", 3<<20) + "."), -1},
		"dictionaries of one byte":         {[]byte(strings.Repeat("}", 3<<20) + "."), -1},
		"memo entries of one byte":         {[]byte("N" + strings.Repeat("\x94", 3<<20) + "."), -1},
	} {
		t.Run(name, func(t *testing.T) {
			text := base64.StdEncoding.EncodeToString(c.pickle)
			before, after := runtime.MemStats{}, runtime.MemStats{}
			runtime.ReadMemStats(&before)
			s, err := Parse(text)
			runtime.ReadMemStats(&after)
			if (err != nil) != (c.nodes < 0) || err == nil && s.Participants != c.nodes {
				t.Fatalf("%d nodes, error %v", s.Participants, err)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 96<<20 {
				t.Errorf("parsing %d MiB allocated %d MiB", len(text)>>20, got>>20)
			}
		})
	}
}

// word encodes a string as pickle does.
func word(s string) string {
	return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
}

// sharedAddress returns the pickle of a state in which many participants share one long address, which is encoded once.
func sharedAddress(length, nodes int) []byte {
	var b strings.Builder
	b.WriteString("\x80\x02cm\nC\n)\x81}(" + word("round") + "K\x00" + word("complete") + "\x89" + word("closed") + "\x89" + word("participants") + "}(")
	b.WriteString("cm\nN\nq\x01)\x81}(" + word("addr") + word(strings.Repeat("a", length)) + "uq\x02bK\x00")
	for range nodes - 1 {
		b.WriteString("h\x01)\x81h\x02bK\x00")
	}
	b.WriteString("uub.")
	return []byte(b.String())
}

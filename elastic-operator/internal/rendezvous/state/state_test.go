package state

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// file is a pickle of testdata as torch would store it.
func file(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".pickle"))
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b)
}

func node(i int, rank int64) Node { return Node{Name: fmt.Sprintf("10.88.0.%d_7_0", i), Rank: rank} }

func running() State {
	return State{
		Round: 300, Complete: true, Participants: []Node{node(0, 0), node(1, 1), node(2, 2), node(3, 3)},
		Waiting: []Node{node(4, -1)}, Spare: []Node{node(5, -1)},
	}
}

func TestDynamic(t *testing.T) {
	closed := running()
	closed.Closed = true
	for name, want := range map[string]State{
		"running": running(), "closed": closed, "fresh": {}, "joining": {Participants: []Node{node(0, -1)}},
	} {
		for _, protocol := range []string{"2", "4", "5"} {
			t.Run(name+", pickle protocol "+protocol, func(t *testing.T) {
				got, err := Dynamic(file(t, name+"-"+protocol))
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("error %v (-want +got):\n%s", err, diff)
				}
			})
		}
	}
	for name, text := range map[string]string{"nothing": "", "the sentinel": Sentinel} {
		t.Run(name+" is an open rendezvous", func(t *testing.T) {
			if got, err := Dynamic(text); err != nil || !cmp.Equal(got, State{}) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestOpenDynamicChangesNothingElse(t *testing.T) {
	for _, protocol := range []string{"2", "4", "5"} {
		t.Run("pickle protocol "+protocol, func(t *testing.T) {
			got, err := OpenDynamic(file(t, "closed-"+protocol))
			if want := file(t, "running-"+protocol); got != want || err != nil {
				t.Errorf("error %v\ngot  %s\nwant %s", err, got, want)
			}
			again, err := OpenDynamic(got)
			if again != got || err != nil {
				t.Errorf("what is open has changed: %s, %v", again, err)
			}
		})
	}
}

func TestDynamicRefuses(t *testing.T) {
	encode := func(pickle string) string { return base64.StdEncoding.EncodeToString([]byte(pickle)) }
	for name, text := range map[string]string{
		"no base64":                         "!",
		"no pickle":                         encode("hello"),
		"a pickle of a number":              encode("K\x01."),
		"an instance without attributes":    encode("cm\nC\n)\x81."),
		"an instance with other attributes": encode("cm\nC\n)\x81}\x8c\x05roundK\x01sb."),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Dynamic(text); !errors.Is(err, ErrUnreadable) {
				t.Errorf("reading: %v", err)
			}
			if _, err := OpenDynamic(text); !errors.Is(err, ErrUnreadable) {
				t.Errorf("opening: %v", err)
			}
		})
	}
}

func TestLegacy(t *testing.T) {
	waiting := []Node{{Rank: -1}, {Rank: -1}}
	for name, c := range map[string]struct {
		text string
		want State
	}{
		"being set up":     {`{"status": "setup"}`, State{}},
		"joinable":         {`{"status": "joinable", "version": "3", "participants": [0, 1]}`, State{Round: 3, Participants: []Node{{Rank: 0}, {Rank: 1}}}},
		"frozen":           {`{"status": "frozen", "version": "3", "participants": [0], "keep_alives": []}`, State{Round: 3, Participants: []Node{{Rank: 0}}}},
		"final":            {`{"status": "final", "version": "3", "participants": [0], "keep_alives": ["/a"], "num_workers_waiting": 2}`, State{Round: 3, Complete: true, Participants: []Node{{Rank: 0}}, Waiting: waiting}},
		"closed":           {`{"status": "closed", "version": "3", "participants": [0], "keep_alives": ["/a"], "num_workers_waiting": 0}`, State{Round: 3, Closed: true, Participants: []Node{{Rank: 0}}, Waiting: []Node{}}},
		"a count below no": {`{"status": "final", "version": "3", "num_workers_waiting": -5}`, State{Round: 3, Complete: true, Waiting: []Node{}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Legacy(c.text)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
	for name, text := range map[string]string{"no JSON": "x", "another status": `{"status":"x"}`, "a version that is no number": `{"status":"final","version":"x"}`} {
		t.Run(name, func(t *testing.T) {
			if _, err := Legacy(text); !errors.Is(err, ErrUnreadable) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestOpenLegacyIsWhatWasThereBefore(t *testing.T) {
	for name, c := range map[string]struct {
		text      string
		want      string
		ephemeral bool
	}{
		"closed while being set up": {`{"status":"closed"}`, "", false},
		"closed while joinable":     {`{"status":"closed","version":"3","participants":[0]}`, `{"participants":[0],"status":"joinable","version":"3"}`, true},
		"closed while frozen":       {`{"status":"closed","version":"3","participants":[0],"keep_alives":[]}`, `{"keep_alives":[],"participants":[0],"status":"frozen","version":"3"}`, true},
		"closed while running":      {`{"status":"closed","version":"3","participants":[0],"keep_alives":["/a"],"num_workers_waiting":0}`, `{"keep_alives":["/a"],"num_workers_waiting":0,"participants":[0],"status":"final","version":"3"}`, false},
		"open":                      {`{"status":"final","version":"3"}`, `{"status":"final","version":"3"}`, false},
		"open and joinable":         {`{"status":"joinable","version":"3"}`, `{"status":"joinable","version":"3"}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ephemeral, err := OpenLegacy(c.text)
			if got != c.want || ephemeral != c.ephemeral || err != nil {
				t.Errorf("got %s, %v, %v; want %s, %v", got, ephemeral, err, c.want, c.ephemeral)
			}
		})
	}
}

// Whatever was stored: what can be read can be opened, and is open then, with all else unchanged.
func FuzzDynamic(f *testing.F) {
	for _, name := range []string{"running-2", "closed-4", "joining-5", "fresh-4"} {
		b, err := os.ReadFile(filepath.Join("testdata", name+".pickle"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		text := base64.StdEncoding.EncodeToString(raw)
		before, err := Dynamic(text)
		if err != nil {
			return
		}
		opened, err := OpenDynamic(text)
		if err != nil {
			t.Fatal(err)
		}
		after, err := Dynamic(opened)
		before.Closed = false
		if err != nil || after.Closed {
			t.Errorf("after it was opened: %+v, %v; before: %+v", after, err, before)
		}
	})
}

func FuzzLegacy(f *testing.F) {
	f.Add(`{"status":"closed","version":"3","participants":[0],"keep_alives":["/a"],"num_workers_waiting":0}`)
	f.Add(`{"status":"closed"}`)
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := Legacy(text); err != nil {
			return
		}
		opened, _, err := OpenLegacy(text)
		if err != nil || opened == "" {
			return
		}
		if after, err := Legacy(opened); err != nil || after.Closed {
			t.Errorf("after it was opened: %+v, %v", after, err)
		}
	})
}

package startup

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

var memory = worker.Memory{
	Generation: 2, Highest: 4, Entered: 1, Attempt: 5, Ran: true, DiedIn: 2, Ordered: "abc", Finished: "abc",
	Instance: worker.Known{ID: "abc", Born: 77, Attempt: 5, Round: 3, Incarnation: "inc", Ran: true, Saw: true},
}

func TestSaveAndLoad(t *testing.T) {
	dir := t.TempDir()
	for name, m := range map[string]worker.Memory{"a round": memory, "no round yet": worker.Fresh()} {
		t.Run(name, func(t *testing.T) {
			if err := Replace(dir, FileName, 0o644, bytes.NewReader(Encode("pod", m))); err != nil {
				t.Fatal(err)
			}
			got, err := Load(dir, "pod")
			if err != nil || got != m {
				t.Errorf("loaded %+v (%v), want %+v", got, err, m)
			}
		})
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v (%v), want only the startup file", left, err)
	}
}

func TestLoadRejectsUnusableFiles(t *testing.T) {
	with := func(from, to string) string { return strings.Replace(string(Encode("pod", memory)), from, to, 1) }
	cases := map[string]struct{ content, want string }{
		"an empty file":               {"", "not a startup file"},
		"half a file":                 {string(Encode("pod", memory)[:30]), "not a startup file"},
		"another pod's file":          {string(Encode("old", memory)), `another pod, UID "old"`},
		"an earlier version":          {with(`"version":2`, `"version":1`), "version 1, want 2"},
		"a negative generation":       {with(`"generation":2`, `"generation":-2`), "-2 is not a count"},
		"a round out of range":        {with(`"round":3`, `"round":-7`), "round -7"},
		"a huge round":                {with(`"round":3`, `"round":9007199254740993`), "not a count"},
		"a round without an instance": {with(`"id":"abc"`, `"id":""`), "round 3 and instance"},
		"a number given as a string":  {with(`"generation":2`, `"generation":"2"`), "not a startup file"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, FileName), []byte(tc.content), 0o644); err != nil {
				t.Fatal(err)
			}
			got, err := Load(dir, "pod")
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
			if got != worker.Fresh() {
				t.Errorf("memory %+v, want that of a new pod", got)
			}
		})
	}
}

func TestAMissingFileMeansANewPod(t *testing.T) {
	if got, err := Load(t.TempDir(), "pod"); err != nil || got != worker.Fresh() {
		t.Errorf("got %+v (%v)", got, err)
	}
}

func TestEnv(t *testing.T) {
	got := string(Env("uid", 2, 3))
	want := "HOLDFAST_RESTART_EPOCH=2\nHOLDFAST_RESTART_ROUND=3\nHOLDFAST_RENDEZVOUS_ID=uid-2-3\n"
	if got != want {
		t.Errorf("got %q", got)
	}
}

// TestDamagedFiles flips, deletes and inserts bytes. Every value that Decode accepts must be within its valid range.
func TestDamagedFiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	refused := 0
	for range 20_000 {
		data := Encode("pod", memory)
		for range 1 + rng.IntN(3) {
			at := rng.IntN(len(data))
			switch rng.IntN(3) {
			case 0:
				data[at] = byte(rng.IntN(256))
			case 1:
				data = append(data[:at:at], data[min(len(data), at+1+rng.IntN(8)):]...)
			case 2:
				data = append(data[:at:at], append([]byte{"0123456789-e.\"{}"[rng.IntN(16)]}, data[at:]...)...)
			}
			if len(data) == 0 {
				break
			}
		}
		m, err := Decode("pod", data)
		if err != nil {
			refused++
		}
		if m.Instance.Round < worker.NoRound || m.Highest < 0 || m.Highest > rounds.MaxCount || m.Generation < 0 || m.Attempt < 0 {
			t.Fatalf("%q gave %+v", data, m)
		}
	}
	if refused == 0 || refused == 20_000 {
		t.Errorf("%d of 20000 rejected: the test tests nothing", refused)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(Encode("pod", memory))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Decode("pod", data)
		if err != nil {
			return
		}
		if again, err := Decode("pod", Encode("pod", m)); err != nil || again != m {
			t.Errorf("%+v became %+v (%v)", m, again, err)
		}
	})
}

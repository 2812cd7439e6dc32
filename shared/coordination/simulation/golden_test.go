package simulation

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden transcripts")

// The golden transcripts show what happens without unexpected faults. They are meant to be read.
func TestGoldenStories(t *testing.T) {
	pair := func(d Driver) Shape { return shape("golden", workers(d, 1, 2), everything(), 1) }
	stories := map[string]func() *scene{
		"supervisors-restart": func() *scene {
			s := enter(t, pair(Exec))
			s.worker(0).die(1)
			s.settles(time.Minute)
			return s
		},
		"containers-restart": func() *scene {
			s := enter(t, pair(CRI))
			s.worker(0).die(1)
			s.settles(time.Minute)
			return s
		},
		"an-empty-store-kills-nobody": func() *scene {
			s := enter(t, pair(Exec))
			s.faults(Fault{Kind: StoreWiped, Count: 10})
			s.passes(5 * time.Second)
			s.settles(time.Minute)
			return s
		},
		"a-spare-takes-over": func() *scene {
			s := enter(t, sparesIn(pair(Exec), 1))
			s.worker(0).fail()
			s.settles(time.Minute)
			return s
		},
		"steps-start-in-order": func() *scene {
			return enter(t, shape("golden", steps(Exec), everything(), 1))
		},
	}
	for name, story := range stories {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name+".txt")
			got := deeds(story().log)
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("the transcript has changed; if the change is intended, run the test with -update (-want +got)\n%s", diff)
			}
		})
	}
}

// deeds omits the log lines of the agents, because the transcripts should show actions.
func deeds(l *transcript) string {
	var b strings.Builder
	for _, line := range l.lines {
		if !strings.HasSuffix(line, "\"") {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

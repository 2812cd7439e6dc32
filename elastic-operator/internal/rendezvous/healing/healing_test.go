package healing

import (
	"testing"
	"time"
)

func TestEnded(t *testing.T) {
	for name, c := range map[string]struct {
		names []string
		n     int
		all   bool
	}{
		"nobody": {[]string{"torchelastic/role_info/0"}, 0, false},
		"two by their ranks, one of which has seen the others": {[]string{terminal + "0", terminal + "1", terminal + "1.FIN"}, 2, false},
		"a count is not everybody":                             {[]string{terminal + "/num_members"}, 0, false},
		"the last one":                                         {[]string{terminal + "/num_members", last}, 0, true},
		"a rank of another key":                                {[]string{"0", "torchelastic/agent/0"}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			if n, all := Ended(c.names); n != c.n || all != c.all {
				t.Errorf("got %d, %v; want %d, %v", n, all, c.n, c.all)
			}
		})
	}
}

func TestDecide(t *testing.T) {
	start := time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)
	after := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	settings := Settings{Grace: 5 * time.Second, Gap: 2 * time.Second}
	for name, c := range map[string]struct {
		closed Closed
		at     time.Time
		why    Reason
	}{
		"an agent left, others train: at once":         {Closed{At: start, Participants: 3}, start, Left},
		"some have ended, not all: at once":            {Closed{At: start, Participants: 3, Ended: 2}, start, Left},
		"all have ended: after the grace":              {Closed{At: start, Participants: 3, Ended: 3}, after(5), NotDone},
		"the last one has said so: after the grace":    {Closed{At: start, Participants: 3, AllEnded: true}, after(5), NotDone},
		"nobody had joined yet: at once":               {Closed{At: start}, start, Left},
		"it was opened just now: after the gap":        {Closed{At: start, Participants: 3, Opened: after(-1)}, after(1), Left},
		"it was opened long ago: at once":              {Closed{At: start, Participants: 3, Opened: after(-9)}, start, Left},
		"the gap is over before the grace: the longer": {Closed{At: start, Participants: 1, Ended: 1, Opened: start}, after(5), NotDone},
	} {
		t.Run(name, func(t *testing.T) {
			if at, why := Decide(c.closed, settings); !at.Equal(c.at) || why != c.why {
				t.Errorf("got %v, %q; want %v, %q", at, why, c.at, c.why)
			}
		})
	}
}

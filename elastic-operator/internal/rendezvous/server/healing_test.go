package server

import (
	"testing"
	"time"
)

func TestAllEnded(t *testing.T) {
	for name, c := range map[string]struct {
		names        []string
		participants int
		want         bool
	}{
		"no agent":            {[]string{"torchelastic/role_info/0"}, 1, false},
		"no agent has joined": {nil, 0, false},
		"two of two, one of which has seen the others":   {[]string{terminal + "0", terminal + "1", terminal + "1.FIN"}, 2, true},
		"two of three, one of which has seen the others": {[]string{terminal + "0", terminal + "1", terminal + "1.FIN"}, 3, false},
		"a counter without the last member":              {[]string{terminal + "/num_members"}, 1, false},
		"the last member":                                {[]string{terminal + "/num_members", last}, 3, true},
		"keys without the prefix":                        {[]string{"0", "torchelastic/agent/0"}, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := allEnded(c.names, c.participants); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestReopening(t *testing.T) {
	start := time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)
	after := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	config := Config{Grace: 5 * time.Second, Gap: 2 * time.Second}
	for name, c := range map[string]struct {
		opened time.Time
		ended  bool
		at     time.Time
		why    string
	}{
		"an agent left, others are training: at once": {time.Time{}, false, start, agentLeft},
		"all have terminated: after the grace period": {time.Time{}, true, after(5), jobNotDone},
		"it was just reopened: after the gap":         {after(-1), false, after(1), agentLeft},
		"it was reopened long ago: at once":           {after(-9), false, start, agentLeft},
		"the gap ends first: after the grace period":  {start, true, after(5), jobNotDone},
	} {
		t.Run(name, func(t *testing.T) {
			if at, why := config.reopening(start, c.opened, c.ended); !at.Equal(c.at) || why != c.why {
				t.Errorf("got %v, %q; want %v, %q", at, why, c.at, c.why)
			}
		})
	}
}

package server

import "testing"

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

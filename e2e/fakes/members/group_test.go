package members

import (
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/relay"
)

func TestARestartReachesEveryMember(t *testing.T) {
	for name, o := range map[string]Options{
		"sidecars":                {Members: 40, Share: 4},
		"supervisors":             {Members: 40, Share: 4, Barrier: true},
		"supervisors with relays": {Members: 40, Share: 1, Barrier: true, Relays: relay.Plan{From: 2, Per: 10}},
	} {
		t.Run(name, func(t *testing.T) { testRestart(t, o) })
	}
}

func testRestart(t *testing.T, o Options) {
	server, err := StartSecureServer(t.Context(), o.Connections())
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	f, _, err := Start(t.Context(), server.Options, o)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Stop()
	for range 7 { // more than an agent allows per minute by default
		r, err := f.Restart(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		// The reply to a join may arrive after the message that all have joined.
		inOrder := 0 < r.Order.P50 && r.Order.P50 <= r.Join.P50 && r.Order.Last <= r.Start.Last
		if !inOrder {
			t.Errorf("a round's times are out of order: %+v", r)
		}
	}
	if u, err := server.Usage(t.Context()); err != nil || u.Connections < int64(o.Members/10) || u.Bytes == 0 {
		t.Errorf("usage %+v, error %v; want connections", u, err)
	}
}

func TestSpread(t *testing.T) {
	var all []Times
	from := time.Unix(0, 0)
	for i := range 200 {
		all = append(all, Times{Joined: from.Add(time.Duration(i+1) * time.Millisecond)})
	}
	got := spread(from, append(all, Times{}), func(t Times) time.Time { return t.Joined })
	want := Spread{P50: 100 * time.Millisecond, P99: 198 * time.Millisecond, Last: 200 * time.Millisecond}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

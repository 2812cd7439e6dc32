package members

import (
	"testing"
	"time"
)

func TestARestartReachesEveryMember(t *testing.T) {
	for name, barrier := range map[string]bool{"sidecars": false, "supervisors": true} {
		t.Run(name, func(t *testing.T) { testRestart(t, Options{Members: 40, Share: 4, Barrier: barrier}) })
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
	if u, err := server.Usage(t.Context()); err != nil || u.Connections < int64(o.Connections()) || u.Bytes == 0 {
		t.Errorf("usage %+v, error %v; want at least %d connections", u, err, o.Connections())
	}
}

func TestSpread(t *testing.T) {
	var all []times
	from := time.Unix(0, 0)
	for i := range 200 {
		all = append(all, times{joined: from.Add(time.Duration(i+1) * time.Millisecond)})
	}
	got := spread(from, append(all, times{}), func(t times) time.Time { return t.joined })
	want := Spread{P50: 100 * time.Millisecond, P99: 198 * time.Millisecond, Last: 200 * time.Millisecond}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

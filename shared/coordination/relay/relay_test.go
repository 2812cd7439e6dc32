package relay

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

func TestWhoRelays(t *testing.T) {
	large := coordination.Stage{Prefix: "js-w", Jobs: 30, Pods: 40}
	tests := map[string]struct {
		plan Plan
		slot string
		want string
	}{
		"the first slot relays":                    {Plan{1000, 100}, "js-w-0-0", "js-w-0-0"},
		"its neighbors use it":                     {Plan{1000, 100}, "js-w-2-19", "js-w-0-0"},
		"the hundredth slot relays":                {Plan{1000, 100}, "js-w-2-20", "js-w-2-20"},
		"the last slots use the previous relay":    {Plan{1000, 100}, "js-w-29-39", "js-w-27-20"},
		"a relay has no more members than a batch": {Plan{1000, 5000}, "js-w-5-0", "js-w-3-8"},
		"a small stage has no relays":              {Plan{1201, 100}, "js-w-0-1", ""},
		"relays are off":                           {Plan{0, 100}, "js-w-0-1", ""},
		"a spare has no relay":                     {Plan{1000, 100}, "js-w-spares-3", ""},
		"a slot of another stage has no relay":     {Plan{1000, 100}, "js-x-0-1", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tc.plan.Of(large, tc.slot); got != tc.want {
				t.Errorf("the relay of %s is %q, want %q", tc.slot, got, tc.want)
			}
		})
	}
}

func joinOf(n int, round int64) rounds.Call {
	return rounds.Join("A", 0, round, 0, rounds.Member{Slot: rounds.Slot{Name: fmt.Sprint("js-w-0-", n), Pod: fmt.Sprint("pod", n)}, ID: fmt.Sprint("i", n)})
}

// next returns the members of the next call. It checks that the arguments are in the same order.
func next(t *testing.T, b *Batch[int]) []int {
	t.Helper()
	c, who, ok := b.Next()
	if !ok {
		return nil
	}
	if len(c.Arguments) != roundArguments+memberArguments*len(who) {
		t.Fatalf("%d arguments for %d members", len(c.Arguments), len(who))
	}
	for i, n := range who {
		if got := c.Arguments[roundArguments+memberArguments*i]; got != fmt.Sprint("js-w-0-", n) {
			t.Errorf("answer %d is for %d, argument for %v", i, n, got)
		}
	}
	return who
}

func TestJoinsGatherWhileACallIsInProgress(t *testing.T) {
	var b Batch[int]
	b.Add(0, joinOf(0, 1), false)
	if got := next(t, &b); !slices.Equal(got, []int{0}) {
		t.Errorf("the first call contains %v", got)
	}
	for n := 1; n < 4; n++ {
		b.Add(n, joinOf(n, 1), false)
	}
	b.Add(4, joinOf(4, 2), false)
	b.Add(5, joinOf(5, 1), false)
	if got := next(t, &b); got != nil {
		t.Errorf("%v is sent while another call is in progress", got)
	}
	b.Done()
	if got := next(t, &b); !slices.Equal(got, []int{1, 2, 3, 5}) {
		t.Errorf("the second call contains %v", got)
	}
	b.Done()
	if got := next(t, &b); !slices.Equal(got, []int{4}) {
		t.Errorf("the call of the later round contains %v", got)
	}
	b.Done()
	if got := next(t, &b); got != nil {
		t.Errorf("%v remains", got)
	}
}

func TestJoinsThatShareNoCall(t *testing.T) {
	var b Batch[int]
	b.Add(0, joinOf(0, 1), true)
	b.Add(1, joinOf(1, 1), true)
	for n := 2; n < 2+rounds.MaxBatch+1; n++ {
		b.Add(n, joinOf(n, 1), false)
	}
	for i, want := range []int{1, 1, rounds.MaxBatch, 1, 0} {
		if got := next(t, &b); len(got) != want {
			t.Errorf("call %d has %d members, want %d", i, len(got), want)
		}
		b.Done()
	}
}

func TestOnlyTheJoinOfOneMemberIsRelayed(t *testing.T) {
	m := rounds.Member{}
	for name, tc := range map[string]struct {
		call rounds.Call
		want bool
	}{
		"a join":       {rounds.Join("A", 0, 0, 0, m), true},
		"two joins":    {rounds.Join("A", 0, 0, 0, m, m), false},
		"a death":      {rounds.Down("A", 0, rounds.Death{}), false},
		"a success":    {rounds.Finish("A", 0, rounds.Slot{}, "i", true), false},
		"a lost round": {rounds.Lost("A", 0, rounds.Slot{}, 1, 1), false},
	} {
		if Joins(tc.call) != tc.want {
			t.Errorf("%s: %t", name, !tc.want)
		}
	}
}

var start = time.Unix(1_700_000_000, 0)

// TestWhenAMemberLeavesItsRelay simulates a member that checks its link whenever a check is due.
func TestWhenAMemberLeavesItsRelay(t *testing.T) {
	tests := map[string]struct {
		begin  func(*Link)
		pongs  bool
		reads  bool          // the relay forwards the level that it has read every 30 s
		stays  time.Duration // the member does not leave before this time
		leaves time.Duration // the member leaves before this time; 0 if it never leaves
	}{
		"a healthy relay":                              {pongs: true, reads: true},
		"a silent relay at rest":                       {stays: 44 * time.Second, leaves: 46 * time.Second},
		"a silent relay during a restart":              {begin: func(l *Link) { l.Told(start, true, false) }, stays: 6 * time.Second, leaves: 8 * time.Second},
		"a request to a dead relay":                    {begin: func(l *Link) { l.Requested(start) }, stays: 6 * time.Second, leaves: 8 * time.Second},
		"a request to a relay that only answers pings": {begin: func(l *Link) { l.Requested(start) }, pongs: true, stays: 19 * time.Second, leaves: 21 * time.Second},
		"a relay that receives no levels":              {pongs: true, stays: 40 * time.Second, leaves: 46 * time.Second},
		"a relay that has lost the store":              {begin: func(l *Link) { l.StoreLost(start, 0.5) }, pongs: true, stays: 9 * time.Second, leaves: 11 * time.Second},
		"an outage that ends":                          {begin: func(l *Link) { l.StoreLost(start, 0); l.Told(start, false, true) }, pongs: true, reads: true},
		"a request that was answered":                  {begin: func(l *Link) { l.Requested(start); l.Answered(start, false) }, pongs: true, reads: true},
		"one of two requests was answered":             {begin: func(l *Link) { l.Requested(start); l.Requested(start); l.Answered(start.Add(5*time.Second), true) }, pongs: true, stays: 24 * time.Second, leaves: 26 * time.Second},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			l := NewLink(start)
			if tc.begin != nil {
				tc.begin(l)
			}
			left := time.Duration(0)
			for now, read := start, start; left == 0 && now.Before(start.Add(10*time.Minute)); {
				verdict, due := l.Check(now)
				switch {
				case verdict == Leave:
					left = now.Sub(start)
				case verdict == Ping && tc.pongs:
					l.Heard(now.Add(10 * time.Millisecond))
					due = now.Add(10 * time.Millisecond)
				case !due.After(now):
					t.Fatalf("the next check at %s is already due", due.Sub(start))
				}
				if now = due; tc.reads && now.Sub(read) > 30*time.Second {
					read = now
					l.Heard(now)
					l.Told(now, false, true)
				}
			}
			switch {
			case tc.leaves == 0 && left != 0:
				t.Errorf("left after %s", left)
			case tc.leaves > 0 && (left < tc.stays || left > tc.leaves):
				t.Errorf("left after %s, want between %s and %s", left, tc.stays, tc.leaves)
			}
		})
	}
}

func TestRecord(t *testing.T) {
	r := Record{"10.1.2.3:4567", strings.Repeat("a", 64), "token"}
	if got, err := ParseRecord(r.String()); err != nil || got != r {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{"", "2 a b", "1 10.1.2.3:1 " + strings.Repeat("a", 64) + " t", "2 10.1.2.3:1 aa t"} {
		if got, err := ParseRecord(text); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

package memory

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// TestPacing fails one worker of a group over and over, each time so long after its round began to run, and reads how long the
// workers of the next round wait.
func TestPacing(t *testing.T) {
	const early, healthy = time.Second, time.Minute
	cases := map[string]struct {
		maxDelay time.Duration
		ends     []time.Duration // after the workers of a round began to run
		want     []time.Duration
	}{
		"the first failures never wait": {
			maxDelay: 32 * time.Second, ends: []time.Duration{early, early, early}, want: []time.Duration{0, 0, 0},
		},
		"then each round waits twice as long as the one before, up to the bound": {
			maxDelay: 5 * time.Second, ends: []time.Duration{early, early, early, early, early, early, early, early},
			want: []time.Duration{0, 0, 0, time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second},
		},
		"a long healthy round resets it": {
			maxDelay: 32 * time.Second, ends: []time.Duration{early, early, early, early, healthy, early},
			want: []time.Duration{0, 0, 0, time.Second, 0, 0},
		},
		"the wait itself is no sign of health": {
			maxDelay: time.Hour, ends: []time.Duration{early, early, early, early, healthy - time.Millisecond},
			want: []time.Duration{0, 0, 0, time.Second, 2 * time.Second},
		},
		"without a bound nobody waits": {
			ends: []time.Duration{early, early, early, early, early}, want: []time.Duration{0, 0, 0, 0, 0},
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			p := newPaced(t, test.maxDelay)
			var got []time.Duration
			for _, end := range test.ends {
				got = append(got, p.fail(end))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("delays (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAFullRecreationDoesNotWait(t *testing.T) {
	p := newPaced(t, time.Minute)
	for range 5 {
		p.fail(time.Second)
	}
	summary, err := p.Open(group, p.opening(2, time.Minute))
	if err != nil || summary.Delay != 0 {
		t.Errorf("the next epoch has a delay of %d ms, error %v", summary.Delay, err)
	}
}

// paced is a group of one worker.
type paced struct {
	*testing.T
	*Server
	now   time.Time
	life  int64
	delay time.Duration
}

func newPaced(t *testing.T, maxDelay time.Duration) *paced {
	p := &paced{T: t, now: time.UnixMilli(1)}
	server, err := NewServer(Options{Now: func() time.Time { return p.now }})
	if err != nil {
		t.Fatal(err)
	}
	p.Server = server
	if _, err := p.Open(group, p.opening(1, maxDelay)); err != nil {
		t.Fatal(err)
	}
	p.join()
	return p
}

func (p *paced) opening(epoch int64, maxDelay time.Duration) coordination.Open {
	return coordination.Open{
		Incarnation: "A", Epoch: epoch, Limit: 100, MaxDelay: maxDelay, Stages: []coordination.Stage{{Prefix: "w", Jobs: 1, Pods: 1}},
	}
}

func (p *paced) worker() (coordination.Member, coordination.Instance) {
	return coordination.Member{Slot: "w-0-0", Pod: "pod"}, coordination.Instance{ID: fmt.Sprint("i", p.life), Born: p.life}
}

func (p *paced) join() {
	p.life++
	m, i := p.worker()
	r, err := p.Join(group, coordination.Join{Member: m, Instance: i, Barrier: true, Seen: coordination.Unseen()})
	if err != nil || r.Level.Phase != coordination.Running {
		p.Fatalf("the level is %v, error %v", r.Level, err)
	}
}

// fail ends the round so long after its workers began to run, lets the next one run, and returns its delay.
func (p *paced) fail(after time.Duration) time.Duration {
	p.now = p.now.Add(p.delay + after)
	m, i := p.worker()
	r, err := p.Down(group, coordination.Down{Member: m, Instance: i, Barrier: true, ExitCode: 1, Seen: coordination.Unseen()})
	if err != nil {
		p.Fatal(err)
	}
	p.delay = time.Duration(r.Level.Delay) * time.Millisecond
	p.join()
	return p.delay
}

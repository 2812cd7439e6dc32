package kubelet

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// half makes every random value the middle of its range.
func half() float64 { return 0.5 }

func after(seconds float64) time.Time {
	return epoch.Add(time.Duration(math.Round(seconds*1000)) * time.Millisecond)
}

func one(policy corev1.RestartPolicy) Shape {
	return Shape{Containers: []ContainerShape{{Name: "main", Policy: policy}}}
}

func withSidecar(policy corev1.RestartPolicy) Shape {
	return Shape{Containers: []ContainerShape{
		{Name: "agent", Policy: corev1.RestartPolicyAlways, Sidecar: true}, {Name: "main", Policy: policy},
	}}
}

// transcript advances the life from change to change until none is left, and returns what a watcher of the API would
// see.
func transcript(l *Life, from time.Time) []string {
	var lines []string
	seen := -1
	note := func(at time.Time) {
		if l.Version() == seen {
			return
		}
		seen = l.Version()
		line := fmt.Sprintf("%.1f %s", at.Sub(epoch).Seconds(), l.Phase())
		for i := range l.containers {
			s := l.containers[i].status("")
			switch {
			case s.State.Running != nil:
				line += fmt.Sprintf(" %s:running/%d", s.Name, s.RestartCount)
			case s.State.Waiting != nil:
				line += fmt.Sprintf(" %s:%s/%d", s.Name, s.State.Waiting.Reason, s.RestartCount)
			default:
				line += fmt.Sprintf(" %s:exit %d/%d", s.Name, s.State.Terminated.ExitCode, s.RestartCount)
			}
		}
		lines = append(lines, line)
	}
	note(from)
	for {
		at, ok := l.Next()
		if !ok {
			return lines
		}
		l.Advance(at)
		note(at)
	}
}

func TestLife(t *testing.T) {
	type act struct {
		at   float64
		code int32
		stop bool
	}
	succeeding := one(corev1.RestartPolicyNever)
	succeeding.SucceedAfter = 5 * time.Second
	for name, test := range map[string]struct {
		shape Shape
		acts  []act
		want  []string
	}{
		"a pod runs until it is told otherwise": {
			shape: one(corev1.RestartPolicyNever),
			want:  []string{"0.0 Pending main:ContainerCreating/0", "1.0 Running main:running/0"},
		},
		"a pod of a Job succeeds after its time, noticed at the tick": {
			shape: succeeding,
			want: []string{
				"0.0 Pending main:ContainerCreating/0", "1.0 Running main:running/0", "6.5 Succeeded main:exit 0/0",
			},
		},
		"with Never a failure is the end": {
			shape: one(corev1.RestartPolicyNever), acts: []act{{at: 10, code: 1}},
			want: []string{"10.0 Running main:running/0", "10.5 Failed main:exit 1/0"},
		},
		"with OnFailure success is the end, also for the sidecar": {
			shape: withSidecar(corev1.RestartPolicyOnFailure), acts: []act{{at: 10}},
			want: []string{"10.0 Running agent:running/0 main:running/0", "10.5 Succeeded agent:exit 0/0 main:exit 0/0"},
		},
		"a first failure is restarted in place after the tick": {
			shape: one(corev1.RestartPolicyOnFailure), acts: []act{{at: 10, code: 143}},
			want: []string{
				"10.0 Running main:running/0", "10.5 Running main:exit 143/0", "10.7 Running main:running/1",
			},
		},
		"a second failure soon after waits for the back-off, which the kubelet meets at its next try": {
			shape: one(corev1.RestartPolicyAlways), acts: []act{{at: 10, code: 1}, {at: 20, code: 1}},
			want: []string{
				"20.0 Running main:running/1", "20.5 Running main:CrashLoopBackOff/1",
				"33.2 Running main:running/2", // noticed at 20.5, retried 10.25 s later, then started
			},
		},
		"a failure long after the last is restarted like a first one": {
			shape: one(corev1.RestartPolicyAlways), acts: []act{{at: 10, code: 1}, {at: 700, code: 1}},
			want: []string{
				"700.0 Running main:running/1", "700.5 Running main:exit 1/1", "700.7 Running main:running/2",
			},
		},
		"a deleted pod ends with the signal's code": {
			shape: one(corev1.RestartPolicyAlways), acts: []act{{at: 10, stop: true}},
			want: []string{"10.0 Running main:running/0", "10.0 Failed main:exit 143/0"},
		},
		"a pod deleted before it ran never runs": {
			shape: one(corev1.RestartPolicyAlways), acts: []act{{at: 0.5, stop: true}},
			want: []string{"0.5 Pending main:ContainerCreating/0", "0.5 Failed main:exit 143/0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := Begin(epoch, test.shape, KubeletRules(), half)
			from := epoch
			for _, a := range test.acts {
				from = after(a.at)
				if a.stop {
					l.Stop(from)
				} else if err := l.Exit(from, "", a.code); err != nil {
					t.Fatal(err)
				}
			}
			got := transcript(l, from)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("changes observed by a watcher (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExitNeedsARunningContainer(t *testing.T) {
	l := Begin(epoch, one(corev1.RestartPolicyNever), KubeletRules(), half)
	if err := l.Exit(after(0.5), "main", 1); !errors.Is(err, ErrNotRunning) {
		t.Errorf("before the start: %v", err)
	}
	if err := l.Exit(after(2), "other", 1); err == nil || errors.Is(err, ErrNotRunning) {
		t.Errorf("an unknown container: %v", err)
	}
	if err := l.Exit(after(2), "main", 1); err != nil {
		t.Error(err)
	}
	if err := l.Exit(after(2.1), "main", 1); !errors.Is(err, ErrNotRunning) {
		t.Errorf("a second exit before the first is noticed: %v", err)
	}
}

// With the kubelet's shortest period, the measured restarts are 1.8 to 2.1 s apart, and never less than one second.
func TestRestartsWithTheShortestPeriod(t *testing.T) {
	rules := KubeletRules()
	rules.BackOff.Max = time.Second
	random := rand.New(rand.NewPCG(1, 2)).Float64
	l := Begin(epoch, one(corev1.RestartPolicyAlways), rules, random)
	l.Advance(after(1))
	now, sum := after(2), 0.0
	const repeats = 1000
	for i := range repeats + 1 {
		if err := l.Exit(now, "", 1); err != nil {
			t.Fatal(err)
		}
		exit := now
		for l.containers[0].state != running {
			now, _ = l.Next()
			l.Advance(now)
		}
		took := now.Sub(exit).Seconds()
		if i > 0 {
			if sum += took; took < 1 || took > 3.5 {
				t.Fatalf("repeat %d took %.2f s", i, took)
			}
		}
		now = now.Add(time.Second)
	}
	if mean := sum / repeats; mean < 1.7 || mean > 2.2 {
		t.Errorf("repeats take %.2f s on average", mean)
	}
}

// The result must not depend on when Advance is called.
func TestAdvanceInOneStepOrInMany(t *testing.T) {
	play := func(step float64) []string {
		shape := withSidecar(corev1.RestartPolicyAlways)
		shape.SucceedAfter = 3 * time.Second // a crash loop with the policy Always
		l := Begin(epoch, shape, KubeletRules(), half)
		for at := 0.0; at < 600; at += step {
			l.Advance(after(at))
		}
		l.Advance(after(600))
		var state []string
		for i := range l.containers {
			c := l.containers[i]
			state = append(state, fmt.Sprint(c.Name, c.state, c.restarts, c.since, c.due, l.Version()))
		}
		return state
	}
	if diff := cmp.Diff(play(0.01), play(600)); diff != "" {
		t.Errorf("many small steps against one (-small +one):\n%s", diff)
	}
}

// Whatever happens to a pod, restart counts never decrease, a pod that is gone stays gone, and the next change is never
// in the past.
func TestLifeInvariants(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 0))
		policy := []corev1.RestartPolicy{
			corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever,
		}[random.IntN(3)]
		l := Begin(epoch, withSidecar(policy), KubeletRules(), random.Float64)
		now, restarts, version := epoch, int32(0), 0
		for range 60 {
			now = now.Add(time.Duration(random.IntN(15000)) * time.Millisecond)
			switch random.IntN(20) {
			case 0:
				l.Stop(now)
			default:
				_ = l.Exit(now, []string{"main", "agent"}[random.IntN(2)], int32(random.IntN(2)))
			}
			l.Advance(now)
			if next, ok := l.Next(); ok && !next.After(now) {
				t.Fatalf("seed %d: at %s something is due at %s", seed, now, next)
			}
			sum := l.containers[0].restarts + l.containers[1].restarts
			if sum < restarts || l.Version() < version {
				t.Fatalf("seed %d: a restart count decreased", seed)
			}
			if l.Gone() && l.Phase() == corev1.PodRunning {
				t.Fatalf("seed %d: a pod that is gone is running", seed)
			}
			restarts, version = sum, l.Version()
		}
	}
}

// TakeStarts returns every start, however late it is called.
func TestEveryStartIsReported(t *testing.T) {
	shape := withSidecar(corev1.RestartPolicyAlways)
	shape.SucceedAfter = time.Second
	l := Begin(epoch, shape, KubeletRules(), half)
	l.Advance(after(20))
	want := []Started{
		{Container: "agent", At: after(1)},
		{Container: "main", At: after(1)},
		{Container: "main", Restarts: 1, At: after(2.7)},  // noticed at 2.5
		{Container: "main", Restarts: 2, At: after(16.9)}, // noticed at 4.2, retried after 12.5 s
	}
	if diff := cmp.Diff(want, l.TakeStarts()); diff != "" {
		t.Errorf("starts (-want +got):\n%s", diff)
	}
	if again := l.TakeStarts(); again != nil {
		t.Errorf("starts are reported twice: %v", again)
	}
}

func TestARemovedRecordEndsTheBackOff(t *testing.T) {
	rules := KubeletRules()
	for name, test := range map[string]struct {
		remove, look float64 // when, in seconds; 0: never
		want         float64 // start of the third instance
	}{
		"kept":                               {want: 33.2},
		"removed before the kubelet looks":   {remove: 20.1, want: 20.7},
		"removed after it looked":            {remove: 20.8, want: 33.2},
		"removed after, and the pod changes": {remove: 20.8, look: 21, want: 21.2},
		"only the pod changes":               {look: 21, want: 33.7},
	} {
		t.Run(name, func(t *testing.T) {
			l := Begin(epoch, one(corev1.RestartPolicyOnFailure), rules, half)
			exits := []float64{10, 20}
			for _, at := range exits {
				if err := l.Exit(after(at), "", 1); err != nil {
					t.Fatal(err)
				}
			}
			if test.remove > 0 {
				l.RemoveRecord(after(test.remove), "main")
			}
			if test.look > 0 {
				l.Look(after(test.look))
			}
			l.Advance(after(100))
			starts := l.TakeStarts()
			if got := starts[len(starts)-1].At.Sub(epoch).Seconds(); len(starts) != 3 || math.Abs(got-test.want) > 0.25 {
				t.Errorf("%d starts, the last at %.1f s; want 3 and %.1f s", len(starts), got, test.want)
			}
		})
	}
}

func TestASucceededContainerRestartsWithoutItsRecord(t *testing.T) {
	l := Begin(epoch, one(corev1.RestartPolicyOnFailure), KubeletRules(), half)
	if err := l.Exit(after(10), "", 0); err != nil {
		t.Fatal(err)
	}
	l.RemoveRecord(after(10.1), "main")
	l.Advance(after(20))
	if got := l.TakeStarts(); len(got) != 2 {
		t.Errorf("%d starts, want a second one", len(got))
	}
}

func TestForgiveResetsTheBackOff(t *testing.T) {
	l := Begin(epoch, one(corev1.RestartPolicyOnFailure), KubeletRules(), half)
	for i := range 4 {
		l.Forgive()
		if err := l.Exit(after(float64(10*(i+1))), "", 1); err != nil {
			t.Fatalf("failure %d: %v", i+1, err)
		}
	}
}

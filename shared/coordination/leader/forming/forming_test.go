package forming

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
)

var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// after returns the time the given number of minutes after the start.
func after(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }

func job(change func(*workload.Job)) *workload.Job {
	j := &workload.Job{Name: "js-w-0", Created: start}
	if change != nil {
		change(j)
	}
	return j
}

// pod returns a pod that was created and scheduled at the given time and has been running since then.
func pod(index int, at time.Time, change func(*workload.Pod)) *workload.Pod {
	p := &workload.Pod{
		Name: fmt.Sprint("p", index), Created: at, Phase: workload.Running, Scheduling: &workload.Scheduling{Done: true, At: at},
		Containers: []workload.Container{{Name: "worker", Running: true, Since: at}},
	}
	if change != nil {
		change(p)
	}
	return p
}

func waitsToBeScheduled(reason, message string) func(*workload.Pod) {
	return func(p *workload.Pod) {
		p.Phase, p.Containers = workload.Pending, nil
		p.Scheduling = &workload.Scheduling{Gated: reason == "SchedulingGated", Message: message}
	}
}

// ended returns a container that has just exited, after the given number of restarts.
func ended(name string, restarts, code int32, at time.Time) workload.Container {
	return workload.Container{
		Name: name, Restarts: restarts, Last: &workload.Exit{Code: code, Message: "last\n  words", At: at}, Waiting: true, Reason: "CrashLoopBackOff",
	}
}

func waiting(reason, message string) func(*workload.Pod) {
	return func(p *workload.Pod) {
		p.Containers[0] = workload.Container{Name: "worker", Waiting: true, Reason: reason, Message: message}
	}
}

func suspended(j *workload.Job) { j.Suspended = true }

func worker(j *workload.Job) { j.Worker = "worker" }

func TestWaitOf(t *testing.T) {
	for name, tc := range map[string]struct {
		slot Slot
		want Wait
	}{
		"a Job that does not exist yet": {Slot{}, Wait{Turn, "waiting for its Job to be created"}},
		"a Job of an earlier epoch":     {Slot{Before: job(nil)}, Wait{Turn, "waiting for Job js-w-0 from an earlier epoch to be deleted"}},
		"a Job that waits for quota":    {Slot{Job: job(suspended)}, Wait{Turn, "waiting its turn: Job js-w-0 is suspended"}},
		"a missing pod":                 {Slot{Job: job(nil)}, Wait{NoPod, "waiting for Job js-w-0 to create its pod"}},
		"a terminating pod":             {Slot{Job: job(nil), Pod: pod(0, start, func(p *workload.Pod) { p.Deleting, p.Due = true, after(30) })}, Wait{Leaving, "waiting for pod p0 to terminate"}},
		"a pod that its node rejected": {Slot{Job: job(nil), Pod: pod(0, start, func(p *workload.Pod) {
			p.Phase, p.Reason, p.Scheduling, p.Containers = workload.Failed, "OutOfcpu", nil, nil
		})}, Wait{NoPod, "waiting for Job js-w-0 to replace pod p0, which failed (OutOfcpu)"}},
		"scheduling gates":                     {Slot{Job: job(nil), Pod: pod(0, start, waitsToBeScheduled("SchedulingGated", "x"))}, Wait{Gated, "pod p0 is gated"}},
		"an unschedulable pod":                 {Slot{Job: job(nil), Pod: pod(0, start, waitsToBeScheduled("Unschedulable", "0/3 nodes are available"))}, Wait{Unscheduled, "pod p0 is unscheduled (0/3 nodes are available)"}},
		"a pod without a scheduling condition": {Slot{Job: job(nil), Pod: pod(0, start, func(p *workload.Pod) { *p = workload.Pod{Name: p.Name, Created: p.Created} })}, Wait{Unscheduled, "pod p0 is unscheduled"}},
		"a container that is being created":    {Slot{Job: job(nil), Pod: pod(0, start, waiting("ContainerCreating", ""))}, Wait{Starting, "pod p0 is starting (ContainerCreating)"}},
		"an image":                             {Slot{Job: job(nil), Pod: pod(0, start, waiting("ImagePullBackOff", "no such host"))}, Wait{Image, "container worker of pod p0 is waiting: ImagePullBackOff (no such host)"}},
		"a program that exits":                 {Slot{Job: job(nil), Pod: pod(0, start, func(p *workload.Pod) { p.Containers[0] = ended("worker", 3, 127, start) })}, Wait{Exits, "container worker of pod p0 exited with code 127 (last words)"}},
		"a program that runs again after an exit": {Slot{Job: job(nil), Pod: pod(0, start, func(p *workload.Pod) {
			p.Containers[0].Restarts, p.Containers[0].Last = 1, &workload.Exit{Code: 1, At: start}
		})}, Wait{Store, "pod p0 is running, but has not reached the store"}},
		"a sidecar that exits next to a running worker": {Slot{Job: job(worker), Pod: pod(0, start, func(p *workload.Pod) {
			p.Init = []workload.Container{ended("agent", 3, 2, start)}
		})}, Wait{Exits, "container agent of pod p0 exited with code 2 (last words)"}},
		"an init container that exits": {Slot{Job: job(worker), Pod: pod(0, start, func(p *workload.Pod) {
			p.Init = []workload.Container{ended("fetch", 0, 1, start)}
		})}, Wait{Exits, "container fetch of pod p0 exited with code 1 (last words)"}},
		"a worker that has just started":    {Slot{Job: job(nil), Pod: pod(0, after(10).Add(-time.Second), nil)}, Wait{Starting, "pod p0 is starting"}},
		"a store that the pod cannot reach": {Slot{Job: job(func(j *workload.Job) { j.Store = "valkey:6379" }), Pod: pod(0, start, nil)}, Wait{Store, "pod p0 is running, but has not reached the store at valkey:6379"}},
		"a helper that exits is not a worker": {Slot{Job: job(worker), Pod: pod(0, start, func(p *workload.Pod) {
			p.Containers = append(p.Containers, ended("helper", 3, 1, start))
		})}, Wait{Store, "pod p0 is running, but has not reached the store"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, WaitOf(tc.slot, after(10))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// step returns a step of four workers. The first has not joined.
func step(now time.Time, change func(*Step)) Step {
	s := Step{Waiting: 1, Period: 30 * time.Minute, Now: now, Opened: start}
	for i := range 4 {
		s.Slots = append(s.Slots, Slot{Name: fmt.Sprint("js-w-0-", i), Job: job(nil), Pod: pod(i, start, nil)})
	}
	s.Missing = s.Slots[:1]
	if change != nil {
		change(&s)
	}
	return s
}

func first(p *workload.Pod) func(*Step) { return func(s *Step) { s.Slots[0].Pod = p } }

func TestClockAndAnswer(t *testing.T) {
	each := func(change func(*workload.Job)) func(*Step) {
		return func(s *Step) {
			for i := range s.Slots {
				s.Slots[i].Job = job(change)
			}
		}
	}
	for name, tc := range map[string]struct {
		step  Step
		start int // in minutes; -1 if the clock is paused
		want  Answer
	}{
		"it starts when the group opens":                   {step(after(29), nil), 0, Nothing},
		"at its end, the pod is replaced":                  {step(after(30), nil), 0, Replace},
		"all have joined":                                  {step(after(99), func(s *Step) { s.Waiting, s.Missing = 0, nil }), 0, Nothing},
		"a store clock that is ahead does not delay it":    {step(after(30), func(s *Step) { s.Opened = after(500) }), 0, Replace},
		"it starts when the last pod is scheduled":         {step(after(50), first(pod(0, after(25), nil))), 25, Nothing},
		"or when the Jobs are resumed":                     {step(after(50), each(func(j *workload.Job) { j.Started = after(40) })), 40, Nothing},
		"a pod without a node pauses it":                   {step(after(500), first(pod(0, start, waitsToBeScheduled("Unschedulable", "")))), -1, Nothing},
		"and so does a gated pod":                          {step(after(500), first(pod(0, start, waitsToBeScheduled("SchedulingGated", "")))), -1, Nothing},
		"a suspended Job pauses it":                        {step(after(500), each(suspended)), -1, Nothing},
		"a missing Job pauses it":                          {step(after(500), func(s *Step) { s.Slots[3].Job = nil }), -1, Nothing},
		"a replacement gets the full timeout":              {step(after(59), first(pod(0, after(31), nil))), 31, Nothing},
		"but is not replaced again":                        {step(after(61), first(pod(0, after(31), nil))), 31, Recreate},
		"a pod that was created late gets its own timeout": {step(after(50), first(pod(0, after(20), nil))), 20, Replace},
		"the Job's back-off delays it":                     {step(after(40), func(s *Step) { s.Slots[0].Pod, s.Answered = nil, after(30) }), 30, Nothing},
		"but not forever":                                  {step(after(60), func(s *Step) { s.Slots[0].Pod, s.Answered = nil, after(30) }), 30, Recreate},
		"a pod that does not terminate delays it":          {step(after(59), first(pod(0, start, func(p *workload.Pod) { p.Deleting, p.Due = true, after(30) }))), 30, Nothing},
		"but not forever either":                           {step(after(60), first(pod(0, start, func(p *workload.Pod) { p.Deleting, p.Due = true, after(30) }))), 30, Recreate},
		"if most workers are missing, all are recreated":   {step(after(30), func(s *Step) { s.Waiting, s.Missing = 3, s.Slots[:3] }), 0, Recreate},
		"also if their names are unknown":                  {step(after(30), func(s *Step) { s.Missing = nil }), 0, Recreate},
	} {
		t.Run(name, func(t *testing.T) {
			tc.step.Missing = append([]Slot(nil), tc.step.Slots[:len(tc.step.Missing)]...)
			deadline, runs := tc.step.Clock()
			if want := tc.start >= 0; runs != want || (runs && !deadline.Start.Equal(after(tc.start))) {
				t.Errorf("running: %v, since %s, want %v and minute %d", runs, deadline.Start, want, tc.start)
			}
			if got := tc.step.Answer(); got != tc.want {
				t.Errorf("the answer is %d, want %d", got, tc.want)
			}
		})
	}
}

func TestWorst(t *testing.T) {
	with := func(c ...workload.Container) Slot {
		return Slot{Name: "js-w-0-0", Job: job(worker), Pod: pod(0, start, func(p *workload.Pod) { p.Containers = c })}
	}
	again := ended("worker", 2, 1, after(1))
	again.Waiting, again.Running = false, true
	failed := Slot{Name: "js-w-0-0", Failed: 2, Pod: pod(0, start, func(p *workload.Pod) { *p = workload.Pod{Name: p.Name, Phase: workload.Failed} })}
	going := with(ended("worker", 0, 143, after(1)))
	going.Pod.Deleting = true
	for name, tc := range map[string]struct {
		slots  []Slot
		opened time.Time
		want   int32
	}{
		"none": {[]Slot{with(), {}}, start, 0},
		"a container that is waiting to be restarted":    {[]Slot{with(ended("worker", 2, 127, after(1)))}, start, 3},
		"a container that is running again":              {[]Slot{with(again)}, start, 2},
		"exit 0 is none":                                 {[]Slot{with(ended("worker", 0, 0, after(1)))}, start, 0},
		"exits of a helper do not count":                 {[]Slot{with(ended("helper", 9, 1, after(1)))}, start, 0},
		"exits of several workers count once":            {[]Slot{with(ended("worker", 0, 2, after(1))), with(ended("worker", 4, 2, after(2)))}, start, 5},
		"exits before the group was opened do not count": {[]Slot{with(ended("worker", 7, 1, start))}, after(1), 0},
		"the end of a deleted pod is not a failure":      {[]Slot{going}, start, 0},
		"each failed pod counts once":                    {[]Slot{failed}, start, 3},
		"rounding to whole seconds hides no exit":        {[]Slot{with(ended("worker", 0, 2, start))}, start.Add(900 * time.Millisecond), 1},
	} {
		t.Run(name, func(t *testing.T) {
			got, found := Worst(tc.slots, tc.opened)
			if got.Times != tc.want || found != (tc.want > 0) {
				t.Errorf("%d failures (%v), want %d", got.Times, found, tc.want)
			}
		})
	}
}

func TestAccounts(t *testing.T) {
	type state struct {
		Epoch   epoch.Record
		Charged int32
	}
	account := func(base, early, charged int32) state {
		return state{epoch.Record{Epoch: 2, Base: base, Early: early, Recreate: 2, Cause: "c"}, charged}
	}
	for name, tc := range map[string]struct {
		before   state
		failures int32
		want     state
		changed  bool
	}{
		"the first failure is charged":                 {account(0, 0, 0), 1, account(1, 1, 1), true},
		"charged failures are not charged again":       {account(1, 1, 1), 1, account(1, 1, 1), false},
		"a new pod has failed less often":              {account(2, 2, 2), 1, account(2, 2, 2), false},
		"several failures at once":                     {account(1, 0, 1), 2, account(3, 2, 3), true},
		"no more than the one that exceeds the budget": {account(1, 0, 1), 50, account(4, 50, 4), true},
		"nothing after that":                           {account(4, 50, 4), 51, account(4, 50, 4), false},
		"a charge of another program is kept":          {account(0, 0, 2), 1, account(1, 1, 2), true},
		"nothing without a failure":                    {account(0, 0, 0), 0, account(0, 0, 0), false},
	} {
		t.Run(name, func(t *testing.T) {
			var got state
			var changed bool
			got.Epoch, got.Charged, changed = Charge(tc.before.Epoch, tc.before.Charged, 3, 0, tc.failures)
			if diff := cmp.Diff(tc.want, got); diff != "" || changed != tc.changed {
				t.Errorf("changed: %v (-want +got)\n%s", changed, diff)
			}
		})
	}
}

func TestTextNamesAFewWorkersAndTheNextStep(t *testing.T) {
	for name, tc := range map[string]struct {
		step Step
		want string
	}{
		"one": {step(after(10), nil),
			"1 of 4 workers have not joined: js-w-0-0: pod p0 is running, but has not reached the store. If they have not joined by 2026-01-01T12:30:00Z (forming-timeout 30m0s), pods are recreated"},
		"while the clock is paused": {step(after(10), first(pod(0, start, waitsToBeScheduled("SchedulingGated", "")))),
			"1 of 4 workers have not joined: js-w-0-0: pod p0 is gated. Meanwhile, the 30m0s forming-timeout is paused"},
		"some of them unknown": {step(after(10), func(s *Step) { s.Waiting = 3 }),
			"3 of 4 workers have not joined: js-w-0-0: pod p0 is running, but has not reached the store; and 2 more. If"},
		"all of them unknown": {step(after(10), func(s *Step) { s.Waiting, s.Missing = 2, nil }),
			"2 of 4 workers have not joined. If"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.step.Text(); !strings.HasPrefix(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/recovering"
	"github.com/holdfast-project/holdfast/shared/restart"
	"github.com/holdfast-project/holdfast/shared/roster"
)

// newGroup returns a running job whose workers restart in place.
func newGroup(minimum, wanted, maximum int, changes ...func(*Settings)) *world {
	w := newWorld(minimum, wanted, maximum, changes...)
	w.facts.InPlace.Timeout = time.Minute
	return w.play().supervised().lookInPlace()
}

// supervised adds the supervisor to all existing pods.
func (w *world) supervised() *world {
	for i, pod := range w.facts.Pods {
		pod.Supervised = true
		w.facts.Pods[i] = pod
	}
	return w
}

// lookInPlace makes a decision and writes the roster.
func (w *world) lookInPlace() *world {
	w.facts.InPlace.Roster = w.look().Roster
	return w
}

func (w *world) member(i int) string { return roster.Member(i, string(w.facts.Pods[i].UID)) }

// told sets the orchestrator's report.
func (w *world) told(r roster.Report) *world {
	r.Epoch = 1
	if before := w.facts.InPlace.Report; before != nil {
		r.Failures = append(slices.Clone(before.Failures), r.Failures...)
	}
	w.facts.InPlace.Report = &r
	return w
}

func (w *world) failed(i int, code int64, round int64) *world {
	return w.told(roster.Report{Phase: coordination.Running, Round: round, Failures: []roster.Failure{
		{At: 1000 + round, Member: w.member(i), Kind: coordination.KindExit, Code: code},
	}})
}

func (w *world) members() []string {
	if w.last.Roster == nil {
		return nil
	}
	return w.last.Roster.Members
}

func TestRosterContainsRunningWorkers(t *testing.T) {
	w := newGroup(2, 3, 4)
	if got, want := w.members(), []string{w.member(0), w.member(1), w.member(2)}; !slices.Equal(got, want) {
		t.Fatalf("%v, not %v", got, want)
	}
	if r := w.last.Roster; r.Epoch != 1 || r.Limit != defaultBackoffLimit || r.Timeout != time.Minute {
		t.Errorf("%+v", r)
	}
	w.scaled(2).lookInPlace()
	if got, want := w.members(), []string{w.member(0), w.member(1)}; !slices.Equal(got, want) {
		t.Errorf("the roster contains a worker that is being removed: %v", got)
	}
	w.change(1, func(p *Pod) { p.Terminating = true }).lookInPlace()
	if got, want := w.members(), []string{w.member(0)}; !slices.Equal(got, want) {
		t.Errorf("the roster contains a terminating pod, or lacks another one: %v", got)
	}
}

// The group forms only when the minimum number of workers is running.
func TestGroupFormsWithTheMinimum(t *testing.T) {
	w := newWorld(2, 3, 3)
	w.facts.InPlace.Timeout = time.Minute
	w.look()
	w.supervised()
	w.run(0)
	if w.lookInPlace(); w.last.Roster != nil {
		t.Errorf("the group formed with one worker: %+v", w.last.Roster)
	}
	w.run(1)
	if w.lookInPlace(); len(w.members()) != 2 {
		t.Errorf("the group did not form with two workers: %v", w.members())
	}
	w.change(1, func(p *Pod) { p.Phase = corev1.PodFailed }).lookInPlace()
	if len(w.members()) != 1 {
		t.Errorf("the roster of a formed group was not updated: %v", w.members())
	}
}

// A failure that was handled in place is counted once, like any other failure, and no pod is replaced.
func TestInPlaceFailure(t *testing.T) {
	w := newGroup(1, 3, 3)
	before := w.member(1)
	w.failed(1, 137, 1).lookInPlace()
	s := w.last.Status
	if len(w.last.Delete)+len(w.last.Create) != 0 || w.member(1) != before {
		t.Errorf("deleted %v, created %v", w.last.Delete, w.last.Create)
	}
	if s.Restarts != 1 || s.Workers[0].Index != 1 || s.Workers[0].Failures != 1 || s.Disruptions != 0 || s.InPlace.Failures != 1 {
		t.Errorf("%+v", s)
	}
	if !slices.ContainsFunc(w.said, func(s string) bool { return strings.HasPrefix(s, EventInPlace+": ") && strings.Contains(s, "137") }) {
		t.Errorf("no event reports the failure: %v", w.said)
	}
	if w.last.Status.State != v1alpha1.StateRunning || w.last.Recovering != nil {
		t.Errorf("%s, %+v", w.last.Status.State, w.last.Recovering)
	}
	if w.lookInPlace(); w.last.Status.Restarts != 1 || len(w.last.Events) != 0 {
		t.Errorf("counted again: %+v, %v", w.last.Memory, w.last.Events)
	}
	if w.last.Roster.Limit != defaultBackoffLimit {
		t.Errorf("after one of three restarts, the limit is %d", w.last.Roster.Limit)
	}
}

// A worker that has reached its back-off limit is no longer restarted, and the others continue without it.
func TestInPlaceFailuresExhaustTheLimit(t *testing.T) {
	w := newGroup(1, 3, 3)
	for round := range int64(defaultBackoffLimit) {
		w.failed(1, 1, round+1).lookInPlace()
	}
	if len(w.last.Delete) != 0 || w.last.Roster.Limit != defaultBackoffLimit {
		t.Fatalf("deleted %v at the limit %d", w.last.Delete, w.last.Roster.Limit)
	}
	w.told(roster.Report{Phase: coordination.Terminal, Round: 3, Failures: []roster.Failure{{At: 9000, Member: w.member(1), Kind: coordination.KindExit, Code: 1}}})
	w.lookInPlace()
	if len(w.last.Delete) != 1 || w.last.Delete[0].Index != 1 || w.last.Status.FailedIndexes != "1" {
		t.Errorf("deleted %+v, abandoned %v", w.last.Delete, w.last.Status.FailedIndexes)
	}
	if got, want := w.members(), []string{w.member(0), w.member(2)}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
	if w.play(); len(w.facts.Pods) != 2 {
		t.Errorf("the worker was replaced: %v", w.facts.Pods)
	}
}

// Another worker has no restarts left, so the group waits. The worker that failed may still be restarted.
func TestGroupWithAWorkerThatMayStillFailRestarts(t *testing.T) {
	w := newGroup(1, 2, 2, func(s *Settings) { s.Backoff = new(restart.Budget(1)) })
	w.failed(0, 1, 1).lookInPlace()
	if w.last.Roster.Limit != 1 {
		t.Fatalf("worker 0 has no restarts left: %+v", w.last.Roster)
	}
	w.told(roster.Report{Phase: coordination.Terminal, Round: 1, Failures: []roster.Failure{{At: 9000, Member: w.member(1), Kind: coordination.KindExit, Code: 1}}})
	if w.lookInPlace(); w.last.Roster.Limit != 2 || len(w.last.Delete) != 0 {
		t.Errorf("%+v, deleted %v", w.last.Roster, w.last.Delete)
	}
	w.told(roster.Report{Phase: coordination.Restarting, Round: 1})
	if w.lookInPlace(); w.last.Roster.Limit != 2 {
		t.Errorf("the limit was lowered during a restart: %+v", w.last.Roster)
	}
}

func TestPermanentInPlaceFailures(t *testing.T) {
	for name, change := range map[string]func(*Settings){
		"a permanent exit code": func(s *Settings) { s.Permanent = []int32{42} },
		"restartPolicy Never":   func(s *Settings) { s.Restart = v1alpha1.RestartNever },
	} {
		w := newGroup(1, 2, 2, change)
		if w.failed(0, 42, 1).lookInPlace(); w.last.Status.FailedIndexes != "0" || len(w.members()) != 1 {
			t.Errorf("%s: abandoned %v, %v", name, w.last.Status.FailedIndexes, w.members())
		}
	}
	if w := newGroup(1, 2, 2, func(s *Settings) { s.Restart = v1alpha1.RestartNever }); w.last.Roster.Limit != 0 {
		t.Errorf("restartPolicy Never: %+v", w.last.Roster)
	}
}

// The termination of a pod is counted from its status, and failures of a pod that no longer exists are ignored.
func TestFailuresOfTerminatedPodsAreNotCountedTwice(t *testing.T) {
	for name, change := range map[string]func(*Pod){
		"a pod that is being deleted": func(p *Pod) { p.Terminating = true },
		"a pod that has failed":       func(p *Pod) { p.Phase, p.ExitCode = corev1.PodFailed, 1 },
		"a different pod":             func(p *Pod) { p.UID = "other" },
	} {
		w := newGroup(1, 2, 2)
		w.failed(0, 1, 1).change(0, change).lookInPlace()
		if n := w.last.Status.InPlace.Failures; n != 0 || w.last.Status.Restarts > 1 {
			t.Errorf("%s: %+v", name, w.last.Memory)
		}
	}
}

// A worker whose in-place restart fails is replaced. This counts as a failure, so that it cannot be repeated
// forever.
func TestWorkerIsReplacedAfterAFailedInPlaceRestart(t *testing.T) {
	w := newGroup(1, 3, 3)
	stuck := w.member(2)
	w.told(roster.Report{Phase: coordination.Restarting, Round: 1, Lost: []roster.Lost{{Member: stuck, Why: "it did not restart in place within 1m0s"}}})
	w.lookInPlace()
	if len(w.last.Delete) != 1 || w.last.Delete[0].Index != 2 || len(w.members()) != 2 || w.last.Memory.Workers[2].Failures != 1 {
		t.Fatalf("deleted %+v, %v, %+v", w.last.Delete, w.members(), w.last.Memory.Workers)
	}
	w.play().supervised().lookInPlace()
	if w.member(2) == stuck || len(w.members()) != 3 || w.last.Memory.Workers[2].Failures != 1 {
		t.Errorf("%v, %+v", w.members(), w.last.Memory.Workers)
	}
}

func TestInPlaceRestartIsAnnounced(t *testing.T) {
	w := newGroup(1, 2, 2)
	deadline := noon.Add(time.Minute)
	w.told(roster.Report{Phase: coordination.Restarting, Round: 1, Message: "worker 1 exited", Deadline: deadline}).lookInPlace()
	want := recovering.State{Level: recovering.LevelProcess, Reason: "worker 1 exited", Deadline: deadline}
	if got := w.last.Recovering; got == nil || *got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if c := w.condition(v1alpha1.JobInPlaceInSync); c == nil || c.Reason != v1alpha1.ReasonRestartingInPlace {
		t.Errorf("%+v", c)
	}
	w.told(roster.Report{Phase: coordination.Running, Round: 1}).lookInPlace()
	if w.last.Recovering != nil {
		t.Errorf("after all workers have restarted: %+v", w.last.Recovering)
	}
	if c := w.condition(v1alpha1.JobInPlaceInSync); c == nil || c.Status != "True" {
		t.Errorf("%+v", c)
	}
}

func (w *world) condition(kind v1alpha1.JobConditionType) *v1alpha1.JobCondition {
	for i := range w.last.Status.Conditions {
		if w.last.Status.Conditions[i].Type == kind {
			return &w.last.Status.Conditions[i]
		}
	}
	return nil
}

func TestConditionInPlaceInSync(t *testing.T) {
	plain := newWorld(1, 1, 1).play()
	if c := plain.condition(v1alpha1.JobInPlaceInSync); c != nil || plain.last.Roster != nil {
		t.Errorf("a job without in-place restarts: %+v, %+v", c, plain.last.Roster)
	}
	plain.facts.InPlace.Problem = "in-place restarts are not possible: no command"
	plain.look()
	if c := plain.condition(v1alpha1.JobInPlaceInSync); c == nil || c.Reason != v1alpha1.ReasonNotPossible || plain.last.Roster != nil {
		t.Errorf("a job that cannot restart in place: %+v, %+v", c, plain.last.Roster)
	}
	alone := newGroup(1, 1, 1).lookInPlace()
	if c := alone.condition(v1alpha1.JobInPlaceInSync); c == nil || c.Reason != v1alpha1.ReasonWaitingForLeader {
		t.Errorf("a job without an orchestrator: %+v", c)
	}
}

// Without a group, a failed worker would wait for the others forever.
func TestInPlaceRestartsAreDisabledLater(t *testing.T) {
	w := newGroup(1, 2, 2)
	w.facts.InPlace.Timeout = 0
	if w.lookInPlace(); len(w.members()) != 2 || w.last.Roster.Timeout != disabledTimeout {
		t.Errorf("%+v", w.last.Roster)
	}
	for i := range 2 {
		w.change(i, func(p *Pod) { p.Supervised = false })
	}
	if w.lookInPlace(); w.last.Roster != nil {
		t.Errorf("%+v", w.last.Roster)
	}
}

// A resumed job starts a new epoch, because all earlier pods have been deleted.
func TestResumedJobStartsAnEpoch(t *testing.T) {
	w := newGroup(1, 2, 2)
	w.suspended().lookInPlace()
	if w.last.Roster != nil {
		t.Errorf("suspended: %+v", w.last.Roster)
	}
	w.facts.Settings.Suspend = false
	w.facts.Pods = map[int]Pod{}
	w.play().supervised().lookInPlace()
	if r := w.last.Roster; r == nil || r.Epoch != 2 || r.Limit != defaultBackoffLimit {
		t.Errorf("resumed: %+v", r)
	}
}

func TestFinishedJobHasNoRoster(t *testing.T) {
	w := newGroup(1, 1, 1)
	w.change(0, func(p *Pod) { p.Phase = corev1.PodSucceeded }).lookInPlace()
	if w.last.Memory.Ended != v1alpha1.JobSucceeded || w.last.Roster != nil {
		t.Errorf("%s: %+v", fmt.Sprint(w.last.Memory.Ended), w.last.Roster)
	}
}

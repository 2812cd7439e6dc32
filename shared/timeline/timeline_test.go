package timeline

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/history"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var start = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return start.Add(d) }

func restart(epoch, round int64, at time.Duration, change func(*history.Entry)) history.Entry {
	e := history.Entry{
		Attempt: history.Attempt{Epoch: epoch, Round: round}, FailedAt: after(at), Kind: history.InPlace, Counted: true,
		Cause: history.Cause{Kind: "exit", ExitCode: 137, Signal: "SIGKILL"}, Worker: "workers-0-3", Pod: "x7k2p", Node: "node-a",
	}
	e.Took[history.Down], e.Took[history.Start] = 30, 51
	if change != nil {
		change(&e)
	}
	return e
}

func jobSet(charged int32, entries ...history.Entry) Object {
	return Object{
		Kind: "JobSet", Name: "train", Created: start, Group: &Group{MaxRestarts: 3, Charged: charged},
		Annotations: map[string]string{history.Annotation: history.Format(entries)},
	}
}

// ladderStory returns a workload with a fault of each kind, each handled at its recovery level.
func ladderStory() Workload {
	js := jobSet(4,
		restart(1, 1, time.Minute, nil),
		restart(1, 2, 2*time.Minute, func(e *history.Entry) {
			e.Cause = history.Cause{Kind: "pod"}
			e.Took[history.Down] = 1300
		}),
		restart(1, 3, 3*time.Minute, func(e *history.Entry) {
			e.Ended = history.Abandoned
			e.Took[history.Start] = 60_000 - 30
		}),
		restart(2, 0, 4*time.Minute+time.Second, func(e *history.Entry) {
			e.Kind, e.Cause, e.Worker, e.Pod, e.Node = history.Recreation, history.Cause{Kind: "timeout"}, "", "", ""
			e.Took[history.Start] += 9000
		}),
	)
	js.Group.MaxRestarts = 4
	js.Conditions = []Condition{{Type: "Failed", Status: "True", Reason: "ReachedMaxRestarts", Message: "jobset failed due to reaching max number of restarts", Since: after(6 * time.Minute)}}
	aw := Object{
		Kind: "AppWrapper", Name: "train", Created: start,
		Annotations: map[string]string{
			"schedulingRetries":  "3",
			"sigs.k8s.io/deploy": `{"currentReschedulingTimes":1,"deployScheduledHosts":["node-a"]}`,
			"holdfast.dev/rescheduling": `{"version":1,"entries":[{"node":"node-a","class":"OOMKilled","reason":"OOMKilled","count":2,
				"first":"2026-11-22T12:05:00Z","last":"2026-11-22T12:05:30Z","expires":"2026-11-22T18:05:30Z"}]}`,
		},
		AppWrapper: &AppWrapper{Phase: "Running", Resets: 1, RetryLimit: 3, Attempts: []Attempt{
			{Start: start, Ready: after(4 * time.Second), End: after(6 * time.Minute), Reason: "FailedComponent", Message: "JobSet train has failed"},
			{Start: after(8 * time.Minute), Ready: after(8*time.Minute + 5*time.Second), End: after(10 * time.Minute), Reason: "AutopilotNoExecute",
				Message: "pods are running on bad nodes: node-b (autopilot)", Nodes: []string{"node-b"}, Evacuation: true},
			{Start: after(11 * time.Minute)},
		}},
	}
	return Workload{Objects: []Object{aw, js}, Events: []Event{
		{after(2*time.Minute + time.Second), "JobSet", "train", "InPlacePodReplaced", "the pod of workers-0-3 is gone: a new one is made"},
		{after(time.Minute), "JobSet", "train", "InPlaceRestart", "worker exited"}, // also in the history
		{after(5*time.Minute + 30*time.Second), "Pod", "train-workers-0-3-x7k2p", "Rescheduled", "OOMKilled on node node-a: evicted"},
		{after(5 * time.Minute), "JobSet", "train", "InPlaceRestart", "worker train-workers-0-0 exited with code 2; restarting all 8 workers in place (restart 3 of 4)"}, // from a deleted JobSet
		{after(7 * time.Minute), "Pod", "other", "Pulled", "Container image was pulled"},
	}}
}

func elasticStory() Workload {
	return Workload{
		Objects: []Object{{
			Kind: "ElasticJob", Name: "cifar", Created: start,
			ElasticJob: &ElasticJob{BackoffLimit: 3, Workers: []ElasticWorker{
				{Index: 1, Failures: 2, LastReason: "exited with code 1", LastTime: after(5 * time.Minute)},
				{Index: 2, Failures: 4, LastReason: "exited with code 7", LastTime: after(6 * time.Minute), Abandoned: true},
			}},
			Conditions: []Condition{{Type: "Succeeded", Status: "True", Since: after(time.Hour)}, {Type: "Failed", Since: after(time.Hour)}},
		}},
		Events: []Event{
			{after(4 * time.Minute), "ElasticJob", "cifar", "ExitedWithCode", "Pod: cifar-worker-1 exited with code 1"}, // the text of earlier versions
			{after(5*time.Minute + time.Second), "ElasticJob", "cifar", "ExitedWithCode", "Pod: default.cifar-worker-1 exited with code 1"},
			{after(6*time.Minute + time.Second), "ElasticJob", "cifar", "WorkerAbandoned", "Pod: cifar-worker-2 will not be replaced: exited with code 7; failures 4, disruptions 0"},
		},
	}
}

// movedStory returns an ElasticJob inside an AppWrapper. Two of its workers are evicted, one of them because the rescheduler moves
// it. Then one is abandoned.
func movedStory() Workload {
	disrupted := func(d time.Duration, worker string) Event {
		return Event{after(d), "ElasticJob", "cifar", "WorkerDisrupted", "Pod: cifar-" + worker + ": it was evicted"}
	}
	return Workload{
		Objects: []Object{
			{Kind: "AppWrapper", Name: "cifar", Created: start, AppWrapper: &AppWrapper{Phase: "Running"}, Annotations: map[string]string{
				"holdfast.dev/rescheduling": `{"version":1,"entries":[{"node":"node-a","class":"OOMKilled","reason":"OOMKilled","slot":"cifar-worker-1","count":1,
					"first":"2026-11-22T12:05:00Z","last":"2026-11-22T12:05:00Z","expires":"2026-11-22T12:35:00Z"}]}`,
			}},
			{Kind: "ElasticJob", Name: "cifar", Created: start, ElasticJob: &ElasticJob{BackoffLimit: 3, Workers: []ElasticWorker{
				{Index: 1, LastReason: "it was evicted", LastTime: after(5*time.Minute + 3*time.Second)},
			}}},
		},
		Events: []Event{
			disrupted(3*time.Minute, "worker-1"), // because of a drain
			disrupted(5*time.Minute+time.Second, "worker-2"),
			disrupted(5*time.Minute+3*time.Second, "worker-1"),
			{after(7 * time.Minute), "ElasticJob", "cifar", "ExitedWithCode", "Pod: default.cifar-worker-1 exited with code 7"},
			{after(7*time.Minute + time.Millisecond), "ElasticJob", "cifar", "WorkerAbandoned", "Pod: cifar-worker-1 will not be replaced: exited with code 7; failures 4, disruptions 1"},
			{after(8 * time.Minute), "ElasticJob", "cifar", "ExitedWithCode", "Pod: default.cifar-worker-10 exited with code 7"},
		},
	}
}

func ongoingStory() Workload {
	js := jobSet(1)
	js.Group.Sidecar = true
	js.Annotations[recovering.Annotation] = recovering.State{Level: recovering.LevelGroup, Reason: "worker w-0-1 exited with code 1", Deadline: after(20 * time.Minute)}.Format()
	js.Conditions = []Condition{{Type: recovering.Condition, Status: "True", Since: after(11*time.Minute + 55*time.Second)}}
	return Workload{Objects: []Object{js}}
}

// The restarts that used up the budget have times in milliseconds, but the reset that follows has a time in seconds.
func TestStatusTimesSortLastInTheirSecond(t *testing.T) {
	list := []Entry{
		{At: start, What: Failed}, {At: start, What: Started}, {At: start.Add(300 * time.Millisecond), What: InPlace, Level: 1},
		{At: start.Add(time.Second), What: InPlace, Level: 1},
	}
	slices.SortStableFunc(list, func(a, b Entry) int { return a.order().Compare(b.order()) })
	var got []What
	for _, e := range list {
		got = append(got, e.What)
	}
	if want := []What{Started, InPlace, Failed, InPlace}; !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
}

func TestGoldenTimelines(t *testing.T) {
	for name, w := range map[string]Workload{"ladder": ladderStory(), "elastic": elasticStory(), "ongoing": ongoingStory(), "moved": movedStory()} {
		t.Run(name, func(t *testing.T) {
			got := Text(Of(w, after(12*time.Minute)))
			file := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The history is written when all workers are running again. Until then, only an event reports the next failure, which happens
// shortly after.
func TestRestartSoonAfterAnother(t *testing.T) {
	event := func(d time.Duration, count int) Event {
		return Event{after(d), "JobSet", "train", "InPlaceRestart", fmt.Sprintf("worker exited; restarting all 8 workers in place (restart %d of 9)", count)}
	}
	w := Workload{
		Objects: []Object{jobSet(2, restart(1, 1, time.Minute, nil))},
		Events:  []Event{event(time.Minute, 1), event(time.Minute+time.Second, 2)},
	}
	var counts []int32
	for _, e := range Of(w, after(time.Hour)) {
		if e.What == InPlace {
			counts = append(counts, e.Count)
		}
	}
	if diff := cmp.Diff([]int32{1, 2}, counts); diff != "" {
		t.Error(diff)
	}
}

func TestRestartCounts(t *testing.T) {
	uncounted := func(e *history.Entry) { e.Counted = false }
	many := make([]history.Entry, history.MaxEntries)
	for i := range many {
		many[i] = restart(1, int64(i)+11, time.Duration(i)*time.Minute, nil)
	}
	cases := map[string]struct {
		charged int32
		entries []history.Entry
		want    string
		early   int32
	}{
		"from 1": {2, []history.Entry{restart(1, 1, 1, nil), restart(1, 2, 2, nil)}, "1 2", 0},
		"a restart that does not count has no number":            {2, []history.Entry{restart(1, 1, 1, nil), restart(2, 0, 2, uncounted), restart(2, 1, 3, nil)}, "1 0 2", 0},
		"the failure that exceeded the budget was not a restart": {3, []history.Entry{restart(1, 1, 1, nil), restart(1, 2, 2, nil)}, "1 2", 0},
		"older restarts are not in the history":                  {30, many, "11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30", 0},
		"nothing was charged":                                    {0, []history.Entry{restart(1, 1, 1, nil)}, "0", 0},
		"a failure before the group had formed":                  {3, []history.Entry{restart(1, 1, 1, nil), restart(1, 2, 2, nil)}, "2 3", 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			js := jobSet(tc.charged, tc.entries...)
			js.Annotations[epoch.Annotation] = epoch.Record{Epoch: 1, Base: tc.early, Early: tc.early}.Format()
			var numbers []string
			for _, e := range Of(Workload{Objects: []Object{js}}, after(time.Hour)) {
				if e.What == InPlace {
					numbers = append(numbers, strings.Fields(e.CountText() + " 0")[0])
				}
			}
			if got := strings.ReplaceAll(strings.Join(numbers, " "), "-", "0"); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

func TestLostTimeIsCountedOnce(t *testing.T) {
	at := func(from, took int) Entry {
		return Entry{At: after(time.Duration(from) * time.Second), Took: time.Duration(took) * time.Second, Level: 1}
	}
	cases := map[string]struct {
		list []Entry
		want time.Duration
	}{
		"nothing":                                   {nil, 0},
		"one recovery after the other":              {[]Entry{at(0, 2), at(10, 3)}, 5 * time.Second},
		"one recovery within the other":             {[]Entry{at(0, 10), at(2, 3)}, 10 * time.Second},
		"a recovery that outlasts another":          {[]Entry{at(5, 10), at(0, 8)}, 15 * time.Second},
		"an entry without a recovery is not a loss": {[]Entry{{At: start, Took: time.Hour}}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Lost(tc.list); got != (Loss{Time: tc.want}) {
				t.Errorf("%+v, want %s", got, tc.want)
			}
		})
	}
}

// A reset has deleted the history. All events remain in the timeline, even if they are as close together as in-place restarts.
func TestRestartsOfADeletedJobSet(t *testing.T) {
	var w Workload
	w.Objects = []Object{{Kind: "AppWrapper", Name: "train", AppWrapper: &AppWrapper{}}}
	for n := range 3 {
		w.Events = append(w.Events, Event{
			At: after(time.Duration(n) * time.Second), Kind: "JobSet", Name: "train", Reason: "InPlaceRestart",
			Note: fmt.Sprintf("worker w-0-0 exited with code 1; restarting all 8 workers in place (restart %d of 3)", n+1),
		})
	}
	w.Events = append(w.Events, w.Events[0]) // two reads may return the same event
	var counts []string
	for _, e := range Of(w, after(time.Minute)) {
		counts = append(counts, e.CountText())
	}
	if got := strings.Join(counts, ", "); got != "1 of 3, 2 of 3, 3 of 3" {
		t.Error(got)
	}
}

// Text that anyone can write to an annotation must not control the terminal, or imitate columns.
func TestTextWithControlCharacters(t *testing.T) {
	got := Text([]Entry{{At: start, Object: "JobSet train", What: Started, Node: "node\ta\v\f", Cause: "a\x1b[2J\u009b2J\r\nb\xff"}})
	want := "TIME (UTC)               LEVEL  WHAT            COUNTED  TOOK  WHERE   CAUSE\n" +
		"2026-11-22 12:00:00.000  -      JobSet started  -        -     node a  a\ufffd[2J\ufffd2J b\ufffd\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestInvalidAnnotationsAreIgnored(t *testing.T) {
	o := jobSet(0)
	o.Annotations = map[string]string{
		history.Annotation: "rubbish", memoryAnnotation: "{", workloadAnnotation: "7", retriesAnnotation: "many", recovering.Annotation: "soon",
	}
	if got := Of(Workload{Objects: []Object{o}}, start); len(got) != 1 || got[0].What != Started {
		t.Errorf("%+v", got)
	}
	if moves, allowed := Moves(o.Annotations); moves != 0 || allowed != -1 {
		t.Errorf("%d of %d", moves, allowed)
	}
}

// The annotations mean the same as in the rescheduler.
func TestMoves(t *testing.T) {
	const twice = `{"currentReschedulingTimes":2}`
	for name, tc := range map[string]struct {
		annotations    map[string]string
		moves, allowed int32
	}{
		"nothing":                    {nil, 0, -1},
		"of a workload":              {map[string]string{workloadAnnotation: twice, retriesAnnotation: "3"}, 2, 3},
		"of a bare pod":              {map[string]string{"sigs.k8s.io/pod": twice, retriesAnnotation: "3"}, 2, 3},
		"a limit with spaces":        {map[string]string{retriesAnnotation: " 3 "}, 0, 3},
		"a limit above the maximum":  {map[string]string{retriesAnnotation: "99999999999"}, 0, maxRetries},
		"a limit below 0":            {map[string]string{retriesAnnotation: "-1"}, 0, -1},
		"a limit that is a fraction": {map[string]string{retriesAnnotation: "1.5"}, 0, -1},
	} {
		t.Run(name, func(t *testing.T) {
			if moves, allowed := Moves(tc.annotations); moves != tc.moves || allowed != tc.allowed {
				t.Errorf("%d of %d, want %d of %d", moves, allowed, tc.moves, tc.allowed)
			}
		})
	}
}

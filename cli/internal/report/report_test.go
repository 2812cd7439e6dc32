package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/cli/internal/read"
)

var update = flag.Bool("update", false, "write the golden files again")

var now = time.Date(2026, 11, 22, 13, 0, 0, 0, time.UTC)

// golden compares the output with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
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
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	content, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = o.UnmarshalJSON(content)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

const appWrapper = `
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata:
  {name: train, namespace: team, uid: aw, creationTimestamp: "2026-11-22T12:00:00Z", labels: {kueue.x-k8s.io/queue-name: q},
   annotations: {workload.codeflare.dev.appwrapper/retryLimit: "3", schedulingRetries: "2", sigs.k8s.io/deploy: '{"currentReschedulingTimes":1}'}}
status:
  phase: Running
  resettingCount: 1
  conditions: [{type: QuotaReserved, status: "True"}]
  attempts:
  - {number: 1, startTime: "2026-11-22T12:00:00Z", readyTime: "2026-11-22T12:00:05Z", endTime: "2026-11-22T12:10:00Z", reason: FailedComponent, message: JobSet train has failed}
  - {number: 2, startTime: "2026-11-22T12:12:00Z", readyTime: "2026-11-22T12:12:06Z"}`

const jobSet = `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: train
  namespace: team
  uid: js
  creationTimestamp: "2026-11-22T12:12:00Z"
  ownerReferences: [{apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, name: train, uid: aw, controller: true}]
  annotations:
    alpha.jobset.sigs.k8s.io/inplace-timeout: 60s
    alpha.jobset.sigs.k8s.io/inplace-restarts: "2"
    holdfast.dev/restart-history: |
      {"generation":1,"restart":1,"failedAt":"2026-11-22T12:20:00.12Z","kind":"in-place","cause":{"kind":"exit","exitCode":137,"signal":"SIGKILL"},"worker":"workers-0-3","pod":"x7k2p","node":"node-a","ms":[1,2,30,48],"counted":true}
      {"generation":1,"restart":2,"failedAt":"2026-11-22T12:30:00Z","kind":"in-place","cause":{"kind":"pod"},"worker":"workers-0-1","pod":"bb2q9","node":"node-b","ms":[0,2,30,1268],"counted":true}
spec: {failurePolicy: {maxRestarts: 5}}
status:
  conditions:
  - {type: InPlaceInSync, status: "True", reason: InSync, message: all 8 workers have restart count 2 of generation 1}`

func pod(name string, ready bool) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Status.Phase = corev1.PodRunning
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
	return p
}

func workload(t *testing.T, change func(js *unstructured.Unstructured, w *read.Workload)) *read.Workload {
	t.Helper()
	js := object(t, jobSet)
	w := &read.Workload{
		Objects: []*unstructured.Unstructured{object(t, appWrapper), js},
		Pods:    []corev1.Pod{pod("train-workers-0-1", true), pod("train-workers-0-0", true)},
	}
	if change != nil {
		change(js, w)
	}
	return w
}

func recoveringNow(js *unstructured.Unstructured, w *read.Workload) {
	a := js.GetAnnotations()
	a["holdfast.dev/recovering"] = `{"level":1,"reason":"worker train-workers-0-3 exited with code 1","deadline":"2026-11-22T13:00:50Z"}`
	js.SetAnnotations(a)
	_ = unstructured.SetNestedSlice(js.Object, []any{map[string]any{
		"type": "Recovering", "status": "True", "reason": "RestartingInPlace", "lastTransitionTime": "2026-11-22T12:59:50Z",
	}}, "status", "conditions")
	for i := range 7 {
		w.Pods = append(w.Pods, pod("train-workers-0-"+string(rune('2'+i)), false))
	}
}

func text(s Status, wide bool) string {
	var b bytes.Buffer
	s.Text(&b, wide)
	return b.String()
}

func TestStatus(t *testing.T) {
	failed := func(_ *unstructured.Unstructured, w *read.Workload) {
		aw := w.Root()
		_ = unstructured.SetNestedField(aw.Object, "Failed", "status", "phase")
		_ = unstructured.SetNestedSlice(aw.Object, []any{
			map[string]any{"type": "Unhealthy", "status": "True", "reason": "FailedComponent", "message": "JobSet train has failed; retryLimit 3 is used up"},
		}, "status", "conditions")
		w.Objects, w.Pods = w.Objects[:1], nil
	}
	late := func(js *unstructured.Unstructured, w *read.Workload) { // all pods are ready, but workers are waiting for two of them
		recoveringNow(js, w)
		w.Pods = w.Pods[:2]
		_ = unstructured.SetNestedSlice(js.Object, []any{map[string]any{
			"type": "InPlaceInSync", "status": "False", "reason": "RestartingInPlace",
			"message": "worker train-workers-0-3 exited with code 1; restarting 8 workers to restart count 3 of generation 1; not back after 2s: train-workers-0-3, train-workers-0-5",
		}}, "status", "conditions")
	}
	forming := func(js *unstructured.Unstructured, _ *read.Workload) {
		_ = unstructured.SetNestedSlice(js.Object, []any{
			map[string]any{"type": "InPlaceInSync", "status": "False", "reason": "WaitingForWorkers",
				"message": "1 of 8 workers have not joined: train-workers-0-3: pod train-workers-0-3-x7k2p is unscheduled (0/3 nodes are available). Meanwhile, the 30m0s forming-timeout is paused"},
		}, "status", "conditions")
	}
	spares := func(_ *unstructured.Unstructured, w *read.Workload) {
		for name, ready := range map[string]bool{"train-workers-spares-0": true, "train-workers-spares-1": false} {
			spare := pod(name, ready)
			spare.Annotations = map[string]string{"jobset.sigs.k8s.io/job-index": "spares"}
			w.Pods = append(w.Pods, spare)
		}
		taken := pod("train-workers-spares-2", true)
		taken.Annotations = map[string]string{"jobset.sigs.k8s.io/job-index": "spares", "holdfast.dev/slot": "train-workers-0-2"}
		w.Pods = append(w.Pods, taken)
	}
	for name, tc := range map[string]struct {
		change func(*unstructured.Unstructured, *read.Workload)
		wide   bool
	}{
		"training": {nil, false}, "recovering": {recoveringNow, false}, "wide": {recoveringNow, true}, "failed": {failed, false},
		"forming": {forming, false}, "late": {late, false}, "spares": {spares, false},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, "status-"+name+".txt", text(Of(workload(t, tc.change), now), tc.wide))
		})
	}
}

func TestEncodings(t *testing.T) {
	for _, format := range []string{"json", "yaml"} {
		var b bytes.Buffer
		if err := Encode(&b, format, Of(workload(t, recoveringNow), now)); err != nil {
			t.Fatal(err)
		}
		golden(t, "status."+format, b.String())
	}
}

func TestEncodedControlCharacters(t *testing.T) {
	const evil = "a\x1b[2J\x7f\u0080\u009b2J\u009f\u00a0\n\tb"
	for _, format := range []string{"json", "yaml"} {
		var b bytes.Buffer
		if err := Encode(&b, format, []string{evil}); err != nil {
			t.Errorf("encoding as %s: %v", format, err)
		}
		if strings.ContainsFunc(b.String(), func(r rune) bool { return r != '\n' && unicode.IsControl(r) }) {
			t.Errorf("%s contains control characters: %q", format, b.String())
		}
		var back []string
		if err := yaml.Unmarshal(b.Bytes(), &back); err != nil || len(back) != 1 || back[0] != evil {
			t.Errorf("%s decodes to %q (%v)", format, back, err)
		}
	}
}

func TestLine(t *testing.T) {
	got := Of(workload(t, recoveringNow), now).Line()
	want := "AppWrapper train  2 of 9 ready  Recovering at recovery level 1, until 13:00:50 at the latest: worker train-workers-0-3 exited with code 1  resets 1 of 3  moves 1 of 2  restarts 2 of 5"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Anyone who can write to the namespace controls these texts. They must not affect the terminal or imitate rows and columns.
func TestTextsCannotControlTheTerminal(t *testing.T) {
	outputs := func(evil string) map[string]string {
		of := func(change func(js *unstructured.Unstructured, w *read.Workload)) Status {
			return Of(workload(t, change), now)
		}
		waiting := of(func(js *unstructured.Unstructured, w *read.Workload) {
			w.Pods[0].Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: evil}}
			_ = unstructured.SetNestedSlice(js.Object, []any{
				map[string]any{"type": "InPlaceInSync", "status": "False", "reason": "WaitingForWorkers", "message": evil},
			}, "status", "conditions")
		})
		recovering := of(func(js *unstructured.Unstructured, _ *read.Workload) {
			mark, _ := json.Marshal(map[string]any{"level": 1, "reason": evil, "deadline": now.Add(time.Minute)})
			js.SetAnnotations(map[string]string{"holdfast.dev/recovering": string(mark)})
		})
		moved := owned(t)
		nodes, _ := json.Marshal([]string{evil})
		moved.Annotations = map[string]string{"sigs.k8s.io/scheduledHosts": string(nodes)}
		moved.Events = []corev1.Event{{Reason: "Rescheduled", Message: evil}}
		top := workload(t, nil)
		_ = unstructured.SetNestedSlice(top.Root().Object, []any{
			map[string]any{"startTime": "2026-11-22T12:00:00Z", "endTime": "2026-11-22T12:10:00Z", "message": evil},
		}, "status", "attempts")
		var why, rows bytes.Buffer
		WhyOf(moved, now).Text(&why)
		TopText(&rows, Top([]*read.Workload{top}, now), true)
		return map[string]string{
			"status": text(waiting, true), "status during a recovery": text(recovering, true), "why": why.String(), "top": rows.String(),
			"line": waiting.Line(), "line during a recovery": recovering.Line(),
		}
	}
	harmless := outputs("a State: Training b")
	for name, got := range outputs("a\x1b[2J\u009b2J\r\n\v\fState:\tTraining\u202e\x00\x7f\u2028b") {
		t.Run(name, func(t *testing.T) {
			if i := strings.IndexFunc(got, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
				t.Errorf("the output contains a control character: %q", got[i:])
			}
			if lines := strings.Count(got, "\n"); lines != strings.Count(harmless[name], "\n") || !strings.Contains(harmless[name], "a State: Training b") {
				t.Errorf("%d lines instead of those of\n%s", lines, harmless[name])
			}
		})
	}
}

// A user may lack permission to read the owner that requests moves.
func TestVerdictWithHiddenOwner(t *testing.T) {
	p := &read.Pod{Pod: pod("p", true), Forbidden: read.Forbidden{"get jobs", "list events"}}
	p.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: "j", UID: "j", Controller: new(true)}}
	if got, want := WhyOf(p, now).Verdict, "unknown: no permission to get jobs"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestVerdictOnAPodThatIsNotManaged(t *testing.T) {
	for name, tc := range map[string]struct{ controller, missing, want string }{
		"its controller was deleted": {"Job", "Job j does not exist", "it is not moved: its controller could not be found: Job j does not exist"},
		"of a DaemonSet":             {"DaemonSet", "", "it is not moved: static pods and the pods of a DaemonSet stay on their node"},
		"a static pod":               {"Node", "", "it is not moved: static pods and the pods of a DaemonSet stay on their node"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &read.Pod{Pod: pod("p", true), Missing: tc.missing}
			p.OwnerReferences = []metav1.OwnerReference{{Kind: tc.controller, Name: "j", Controller: new(true)}}
			if got := WhyOf(p, now).Verdict; got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// The rescheduler uses the valid annotation nearest to the pod. It ignores ReplicaSets, because a Deployment copies its annotations to them.
func TestVerdictUsesTheNearestValidAnnotation(t *testing.T) {
	const byDefault = "it is not moved, unless the rescheduler's defaultRetries applies: "
	annotated := func(kind, retries string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		o.SetKind(kind)
		o.SetName("a")
		if retries != "" {
			o.SetAnnotations(map[string]string{"schedulingRetries": retries})
		}
		return o
	}
	chain := func(owners ...*unstructured.Unstructured) []*unstructured.Unstructured { return owners }
	for name, tc := range map[string]struct {
		owners []*unstructured.Unstructured
		want   string
	}{
		"nearest owner":         {chain(annotated("Job", "2"), annotated("JobSet", "3")), "0 of 2 moves are used"},
		"invalid, then valid":   {chain(annotated("Job", "x"), annotated("JobSet", "3"), annotated("AppWrapper", "")), "0 of 3 moves are used"},
		"with spaces":           {chain(annotated("Job", " 2 ")), "0 of 2 moves are used"},
		"more than the maximum": {chain(annotated("Job", "99999999999")), "0 of 10000 moves are used"},
		"negative":              {chain(annotated("Job", "-1")), byDefault + "none of its owners has a valid annotation schedulingRetries"},
		"copied to a ReplicaSet": {
			chain(annotated("ReplicaSet", "2"), annotated("Deployment", "")), byDefault + "none of its owners has a valid annotation schedulingRetries",
		},
		"ReplicaSet without Deployment": {chain(annotated("ReplicaSet", "2")), "0 of 2 moves are used"},
	} {
		t.Run(name, func(t *testing.T) {
			want := tc.want
			if !strings.HasPrefix(want, byDefault) {
				want = "it is moved if it cannot run on its node: " + want
			}
			if got := WhyOf(&read.Pod{Pod: pod("p", true), Owners: tc.owners}, now).Verdict; got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// A repeated event counts at the time of its last occurrence. The annotation holds the last decision.
func TestVerdictIsTheLastDecision(t *testing.T) {
	event := func(reason, message string, first int, change ...func(*corev1.Event)) corev1.Event {
		e := corev1.Event{Reason: reason, Message: message, EventTime: metav1.NewMicroTime(now.Add(time.Duration(first) * time.Second))}
		e.InvolvedObject.UID = "current"
		for _, c := range change {
			c(&e)
		}
		return e
	}
	last := func(second int) metav1.Time { return metav1.NewTime(now.Add(time.Duration(second) * time.Second)) }
	series := func(second int) func(*corev1.Event) {
		return func(e *corev1.Event) {
			e.Series = &corev1.EventSeries{Count: 2, LastObservedTime: metav1.NewMicroTime(last(second).Time)}
		}
	}
	counted := func(second int) func(*corev1.Event) {
		return func(e *corev1.Event) {
			e.EventTime, e.FirstTimestamp, e.LastTimestamp = metav1.MicroTime{}, last(0), last(second)
		}
	}
	annotation := func(at string) string {
		return `{"time":"` + at + `","pod":"train-workers-0-3-x7k2p","reason":"NoOtherNode","message":"a"}`
	}
	earlier := func(e *corev1.Event) { e.InvolvedObject.UID = "earlier" }
	const moved, stays, could = "Rescheduled", "NoOtherNode", "it is moved if it cannot run on its node: 0 of 2 moves are used"
	for name, tc := range map[string]struct {
		events   []corev1.Event
		decision string
		want     string
		count    int
	}{
		"in a series":                       {[]corev1.Event{event(moved, "a", 0, series(9)), event(stays, "b", 5)}, "", "a", 2},
		"counted":                           {[]corev1.Event{event(moved, "a", 0, counted(9)), event(stays, "b", 5)}, "", "a", 2},
		"repeated in annotation":            {[]corev1.Event{event(stays, "a", 0), event(moved, "b", 5)}, annotation("2026-11-22T13:00:09Z"), "a", 2},
		"only in annotation":                {nil, annotation("2026-11-22T13:00:09Z"), "a", 1},
		"annotation of an earlier workload": {nil, annotation("2026-11-22T11:00:09Z"), could, 0},
		"earlier pod stayed":                {[]corev1.Event{event(stays, "a", 0, earlier)}, "", could, 1},
		"earlier pod was moved":             {[]corev1.Event{event(moved, "a", 0, earlier)}, "", "a", 1},
		"earlier pod was moved, this stays": {[]corev1.Event{event(stays, "b", 5), event(moved, "a", 0, earlier)}, "", "b", 2},
		"annotation about the earlier pod":  {nil, annotation("2026-11-22T12:59:50Z"), could, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := owned(t, "schedulingRetries", "2", "holdfast.dev/rescheduling-decision", tc.decision)
			p.Owners[1].SetCreationTimestamp(metav1.NewTime(now.Add(-time.Hour)))
			p.UID, p.CreationTimestamp = "current", metav1.NewTime(now.Add(-time.Second))
			p.Events = tc.events
			why := WhyOf(p, now)
			if why.Verdict != tc.want || len(why.Said) != tc.count {
				t.Errorf("%q and %d notes, want %q and %d", why.Verdict, len(why.Said), tc.want, tc.count)
			}
		})
	}
}

func TestPodsThatAreNotReady(t *testing.T) {
	change := func(change func(*corev1.Pod)) corev1.Pod {
		p := pod("p", false)
		change(&p)
		return p
	}
	cases := map[string]struct {
		pod  corev1.Pod
		want string
	}{
		"ready":             {pod("p", true), ""},
		"succeeded":         {change(func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }), ""},
		"failed":            {change(func(p *corev1.Pod) { p.Status.Phase, p.Status.Reason = corev1.PodFailed, "Evicted" }), "Evicted"},
		"not ready":         {pod("p", false), "running, not ready"},
		"being created":     {change(func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }), "starting"},
		"no image":          {change(func(p *corev1.Pod) { p.Status.ContainerStatuses = waiting("ImagePullBackOff") }), "ImagePullBackOff"},
		"waiting for inits": {change(func(p *corev1.Pod) { p.Status.ContainerStatuses = waiting("PodInitializing") }), "running, not ready"},
		"no node": {change(func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/2 nodes are available"}}
		}), "0/2 nodes are available"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := notReady(&tc.pod); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func waiting(reason string) []corev1.ContainerStatus {
	return []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}}
}

func owned(t *testing.T, annotations ...string) *read.Pod {
	t.Helper()
	js := object(t, jobSet)
	a := js.GetAnnotations()
	for i := 0; i < len(annotations); i += 2 {
		a[annotations[i]] = annotations[i+1]
	}
	js.SetAnnotations(a)
	p := &read.Pod{Pod: pod("train-workers-0-3-x7k2p", true)}
	p.Spec.NodeName = "node-a"
	p.Owners = []*unstructured.Unstructured{object(t, "{apiVersion: batch/v1, kind: Job, metadata: {name: train-workers-0}}"), js}
	return p
}

func TestWhy(t *testing.T) {
	moved := owned(t, "schedulingRetries", "2")
	moved.Owners = append(moved.Owners, object(t, appWrapper))
	moved.Annotations = map[string]string{"sigs.k8s.io/scheduledHosts": `["node-b"]`}
	moved.Events = []corev1.Event{{
		Reason: "Rescheduled", Message: "OOMKilled on node node-a: evicted, to run on another node", EventTime: metav1.NewMicroTime(now),
	}, {Reason: "Pulled", Message: "the image was there"}}
	asks := &read.Pod{Pod: pod("p", true)}
	asks.Annotations = map[string]string{"schedulingRetries": "2"}
	used := &read.Pod{Pod: pod("p", true)}
	used.Annotations = map[string]string{"schedulingRetries": "2", "sigs.k8s.io/pod": `{"currentReschedulingTimes":2}`}
	blocked := owned(t) // moved by default, because no owner requests moves
	blocked.Events = []corev1.Event{{
		Type: corev1.EventTypeWarning, Reason: "BlockedByDisruptionBudget", EventTime: metav1.NewMicroTime(now),
		Message: "OOMKilled on node node-a: a PodDisruptionBudget does not allow the eviction yet",
	}}
	for name, p := range map[string]*read.Pod{
		"bare-asks": asks, "bare-used-up": used, "blocked": blocked, "never": owned(t, "schedulingRetries", "0"), "unreadable": owned(t, "schedulingRetries", "some"),
		"moved": moved, "not-asked": owned(t), "bare": {Pod: pod("p", true)},
		"recovering": owned(t, "schedulingRetries", "2", "holdfast.dev/recovering", `{"level":1,"reason":"x","deadline":"2026-11-22T13:00:50Z"}`),
		"could":      owned(t, "schedulingRetries", "2"),
		"used-up":    owned(t, "schedulingRetries", "1", "sigs.k8s.io/deploy", `{"currentReschedulingTimes":1}`),
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			WhyOf(p, now).Text(&b)
			golden(t, "why-"+name+".txt", b.String())
		})
	}
}

func TestTop(t *testing.T) {
	idle := &read.Workload{Objects: []*unstructured.Unstructured{object(t, strings.ReplaceAll(appWrapper, "attempts:", "others:"))}}
	idle.Root().SetName("idle")
	for _, wide := range []bool{false, true} {
		name := "top.txt"
		if wide {
			name = "top-wide.txt"
		}
		var b bytes.Buffer
		TopText(&b, Top([]*read.Workload{idle, workload(t, nil)}, now), wide)
		golden(t, name, b.String())
	}
}

// A lost worker costs time, even if that time was not measured.
func TestTopWithUnknownDurations(t *testing.T) {
	lost := func(name string, workers ...string) *read.Workload {
		o := object(t, elasticJob("workers: ["+strings.Join(workers, ", ")+"]"))
		o.SetName(name)
		return &read.Workload{Objects: []*unstructured.Unstructured{o}}
	}
	const one, two = `{index: 1, lastTime: "2026-11-22T12:40:00.000000Z"}`, `{index: 2, lastTime: "2026-11-22T12:50:00.000000Z"}`
	js := object(t, jobSet)
	rows := Top([]*read.Workload{lost("calm"), lost("once", one), lost("twice", one, two), {Objects: []*unstructured.Unstructured{js}}}, now)
	var b bytes.Buffer
	TopText(&b, rows, false)
	golden(t, "top-not-timed.txt", b.String())
}

// All pods that exist are ready, but a quota keeps the others from being created.
func TestPodsThatDoNotExistAreMissing(t *testing.T) {
	for text, want := range map[string]State{
		`{kind: JobSet, spec: {replicatedJobs: [{replicas: 2}, {replicas: 1}]}, status: {replicatedJobsStatus: [{ready: 1, succeeded: 0}, {ready: 1, succeeded: 0}]}}`:                Waiting,
		`{kind: JobSet, spec: {replicatedJobs: [{replicas: 2}, {replicas: 1}]}, status: {replicatedJobsStatus: [{ready: 1, succeeded: 1}, {ready: 1, succeeded: 0}]}}`:                Training,
		`{kind: JobSet, spec: {replicatedJobs: [{replicas: 1}, {replicas: 2}]}, status: {replicatedJobsStatus: [{ready: 1, succeeded: 0}, {ready: 0, succeeded: 0, notStarted: 2}]}}`: Training,
		`{kind: JobSet, spec: {replicatedJobs: [{replicas: 2}]}}`:                                        Training, // managed by another controller, which has not reported counts yet
		`{kind: Job, spec: {parallelism: 3}, status: {ready: 2}}`:                                        Waiting,
		`{kind: Job, spec: {parallelism: 3, completions: 10}, status: {succeeded: 5, ready: 0}}`:         Waiting,
		`{kind: Job, spec: {parallelism: 3, completions: 10}, status: {succeeded: 9, ready: 1}}`:         Training,
		`{kind: Job, spec: {parallelism: 3, completions: 2}, status: {ready: 1, succeeded: 1}}`:          Training,
		`{kind: Deployment, spec: {replicas: 3}, status: {readyReplicas: 2}}`:                            Waiting,
		`{kind: StatefulSet, spec: {replicas: 3}, status: {readyReplicas: 3}}`:                           Training,
		`{kind: AppWrapper, status: {phase: Running, conditions: [{type: PodsReady, status: "False"}]}}`: Waiting,
		`{kind: AppWrapper, status: {phase: Running, conditions: [{type: PodsReady, status: "True"}]}}`:  Training,
	} {
		w := &read.Workload{Objects: []*unstructured.Unstructured{object(t, "{apiVersion: x/v1, metadata: {name: train}, "+text[1:])}, Pods: []corev1.Pod{{
			ObjectMeta: metav1.ObjectMeta{Name: "train-0"},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
		}}}
		if got := Of(w, now).State; got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

package signals_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
	"github.com/holdfast-project/holdfast/rescheduler/internal/testing/pods"
	"github.com/holdfast-project/holdfast/shared/history"
)

func minutesAgo(n int) time.Time { return noon.Add(-time.Duration(n) * time.Minute) }

// restarted returns the restart of a group that was caused by worker 0 of set s, in pod s-w-0-0-abc.
func restarted(at time.Time, changes ...func(*history.Entry)) history.Entry {
	e := history.Entry{Kind: history.InPlace, FailedAt: at, Cause: history.Cause{Kind: "exit", ExitCode: 1}, Worker: "w-0-0", Pod: "abc", Node: "a"}
	for _, change := range changes {
		change(&e)
	}
	return e
}

// The supervisor restarts processes within their container. The workload counts these restarts, because the kubelet does not.
func TestRestartsCountedByWorkload(t *testing.T) {
	thrice := []history.Entry{restarted(minutesAgo(30)), restarted(minutesAgo(20)), restarted(minutesAgo(10))}
	with := func(change func(*history.Entry)) []history.Entry {
		return []history.Entry{thrice[0], thrice[1], restarted(minutesAgo(10), change)}
	}
	supervised := func(p *corev1.Pod) { p.Spec.Containers[0].Command = []string{"holdfast-exec", "--", "python"} }
	for name, c := range map[string]struct {
		account []history.Entry
		change  func(*corev1.Pod)
		want    bool
	}{
		"three on this node":             {thrice, supervised, true},
		"two":                            {thrice[:2], supervised, false},
		"three over a long period":       {append([]history.Entry{restarted(minutesAgo(90))}, thrice[1:]...), supervised, false},
		"previous pod on another node":   {with(func(e *history.Entry) { e.Node = "b" }), supervised, false},
		"previous pod with another name": {with(func(e *history.Entry) { e.Pod = "xyz" }), supervised, false},
		"one caused by another worker":   {with(func(e *history.Entry) { e.Worker = "w-0-1" }), supervised, false},
		"one was a recreation":           {with(func(e *history.Entry) { e.Kind = history.Recreation }), supervised, false},
		"pod without agent":              {thrice, func(*corev1.Pod) {}, false},
		"pod without a node":             {thrice, func(p *corev1.Pod) { supervised(p); p.Spec.NodeName = "" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			pod := pods.Make("s-w-0-0-abc", noon.Add(-2*time.Hour)).Change(c.change).Obj()
			m, found := signals.Default().Accounted(pod, "s", history.Format(c.account), noon)
			if found != c.want {
				t.Fatalf("got %+v, %t", m, found)
			}
			if found && (m.Row.Name != "FailsInPlace" || !m.Since.Equal(minutesAgo(10)) || m.Reason != "exited with code 1" || !m.Down) {
				t.Errorf("got %+v", m)
			}
		})
	}
}

func TestInvalidAccountIsIgnored(t *testing.T) {
	if _, found := signals.Default().Accounted(pods.Make("s-w-0-0-abc", noon).Change(member).Obj(), "s", "1.3 broken", noon); found {
		t.Error("got a match")
	}
}

func TestPodsNamedInAccount(t *testing.T) {
	one, two := restarted(minutesAgo(2)), restarted(minutesAgo(1), func(e *history.Entry) { e.Round, e.Pod = 1, "xyz" })
	nobodys := restarted(minutesAgo(0), func(e *history.Entry) { e.Round, e.Worker, e.Pod = 2, "", "" })
	got := signals.Named("s", history.Format([]history.Entry{one}), history.Format([]history.Entry{one, two, nobodys}))
	if len(got) != 1 || got[0] != "s-w-0-0-xyz" {
		t.Errorf("got %v", got)
	}
}

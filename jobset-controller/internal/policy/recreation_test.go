package policy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/history"
)

func TestAccountOfARecreation(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(1_000_000 + int64(ms)).UTC() }
	for name, c := range map[string]struct {
		known Recreation
		end   time.Time
		want  string
	}{
		"all is known": {
			Recreation{FailedAt: at(0), DecidedAt: at(40), DownAt: at(2040), Counted: true, Culprit: history.Entry{
				Worker: "workers-0-3", Pod: "x7k2p", Node: "n1", Cause: history.Cause{ExitCode: 137, Signal: "SIGKILL", Reason: "OOMKilled"}}},
			at(5040), "3.0 00:16:40.000 recreation: policy (SIGKILL, OOMKilled) workers-0-3/x7k2p@n1 [40 0 2000 3000] counted=true"},
		"the controller has restarted": {
			Recreation{DecidedAt: at(0)}, at(5000), "3.0 00:16:40.000 recreation: policy /@ [0 0 0 5000] counted=false"},
		"a clock that is ahead": {
			Recreation{FailedAt: at(900), DecidedAt: at(40), DownAt: at(100), Counted: true}, at(1040),
			"3.0 00:16:40.040 recreation: policy /@ [0 0 60 940] counted=true"},
		"Jobs that were gone after the end": {
			Recreation{DecidedAt: at(0), DownAt: at(9000), Counted: true}, at(1000),
			"3.0 00:16:40.000 recreation: policy /@ [0 0 1000 0] counted=true"},
	} {
		t.Run(name, func(t *testing.T) {
			e := c.known.Account(2, c.end)
			if got := line(e); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if e.Lost() != c.end.Sub(e.FailedAt) {
				t.Errorf("the parts add up to %s, the outage is %s", e.Lost(), c.end.Sub(e.FailedAt))
			}
			if back, err := history.Parse(history.Format([]history.Entry{e})); err != nil || len(back) != 1 || back[0] != e {
				t.Errorf("%v comes back as %v: %v", e, back, err)
			}
		})
	}
}

func TestFindCulprit(t *testing.T) {
	ended := func(code int32, reason string, second int64) *corev1.ContainerStateTerminated {
		return &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, FinishedAt: metav1.Unix(second, 0)}
	}
	pod := func(index string, statuses ...corev1.ContainerStatus) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "js-w-1-" + index + "-abcde", Annotations: map[string]string{
				v1alpha2.ReplicatedJobNameKey: "w", v1alpha2.JobIndexKey: "1", batchv1.JobCompletionIndexAnnotation: index,
			}},
			Spec: corev1.PodSpec{NodeName: "n" + index}, Status: corev1.PodStatus{ContainerStatuses: statuses},
		}
	}
	now := func(t *corev1.ContainerStateTerminated) corev1.ContainerStatus {
		return corev1.ContainerStatus{State: corev1.ContainerState{Terminated: t}}
	}
	before := func(t *corev1.ContainerStateTerminated) corev1.ContainerStatus {
		return corev1.ContainerStatus{LastTerminationState: corev1.ContainerState{Terminated: t}}
	}
	first := history.Entry{Worker: "w-1-2", Pod: "abcde", Node: "n2", Cause: history.Cause{ExitCode: 137, Signal: "SIGKILL", Reason: "OOMKilled"}}
	for name, c := range map[string]struct {
		pods []corev1.Pod
		want history.Entry
	}{
		"no pods are left":       {nil, history.Entry{}},
		"no worker has failed":   {[]corev1.Pod{pod("0", now(ended(0, "Completed", 5))), pod("1")}, history.Entry{}},
		"the first of several":   {[]corev1.Pod{pod("0", now(ended(1, "Error", 9))), pod("2", now(ended(137, "OOMKilled", 7)))}, first},
		"one that was restarted": {[]corev1.Pod{pod("0", now(ended(1, "Error", 9))), pod("2", before(ended(137, "OOMKilled", 7)))}, first},
		"an ordinary exit": {[]corev1.Pod{pod("0", now(ended(3, "Error", 9)))},
			history.Entry{Worker: "w-1-0", Pod: "abcde", Node: "n0", Cause: history.Cause{ExitCode: 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, FindCulprit("js", c.pods)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// line formats the fields of an entry on one line.
func line(e history.Entry) string {
	text := fmt.Sprintf("%d.%d %s %s: %s %s/%s@%s %v %s counted=%t", e.Epoch, e.Round, e.FailedAt.Format("15:04:05.000"), e.Kind, e.Cause,
		e.Worker, e.Pod, e.Node, e.Took, e.Ended, e.Counted)
	return strings.Join(strings.Fields(text), " ")
}

// Package report interprets the objects that were read and writes the result as a table, a wide table, JSON or YAML.
package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/cli/internal/read"
	"github.com/holdfast-project/holdfast/shared/recovering"
	"github.com/holdfast-project/holdfast/shared/timeline"
)

type State string

const (
	Training   State = "Training"   // all workers, or enough workers of an ElasticJob, are running
	Recovering State = "Recovering" // a recovery is in progress
	Waiting    State = "Waiting"    // waiting for pods, for enough workers of an ElasticJob, or for a group that is not in sync
	Suspended  State = "Suspended"
	Finished   State = "Finished"
	Failed     State = "Failed"
)

// Status describes a workload: whether it is training, which pods are not ready, how much time it lost, and what it is waiting for.
type Status struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	State     State  `json:"state"`
	// WaitsFor describes what must happen next, or why the workload failed.
	WaitsFor string `json:"waitsFor,omitempty"`
	// Elastic is an ElasticJob's message about workers that are not running while others may be training.
	Elastic string `json:"elastic,omitempty"`
	Quota   string `json:"quota"` // held, not held, or no queue
	Workers int    `json:"workers"`
	Ready   int    `json:"ready"`
	// NotReady names pods that are not ready, each with the reason.
	NotReady []string `json:"notReady,omitempty"`
	// Spares is the number of pods waiting to take over the slot of a lost pod. SparesReady is how many of them are ready.
	Spares      int `json:"spares,omitempty"`
	SparesReady int `json:"sparesReady,omitempty"`
	// OutOfSync is the orchestrator's message about a group that is restarting in place. It names the missing workers if the restart
	// takes a long time. The pods of waiting workers may be ready.
	OutOfSync string `json:"outOfSync,omitempty"`
	// Recovery is the recovery in progress; nil if there is none.
	Recovery *Recovery `json:"recovery,omitempty"`
	// Counters are the counts with their limits.
	Counters []Counter `json:"counters,omitempty"`
	// Loss is the time lost by the recoveries in the available history.
	timeline.Loss
	Last    []timeline.Entry `json:"last,omitempty"` // most recent recoveries, newest last
	Objects []string         `json:"objects"`
}

// Recovery describes a recovery in progress, as announced by the program that performs it.
type Recovery struct {
	Level    int       `json:"level"`
	Object   string    `json:"object"`
	Reason   string    `json:"reason"`
	Deadline time.Time `json:"deadline"`
}

// Counter is a count with its limit. A limit of -1 means that there is no limit or that it is unknown.
type Counter struct {
	Name  string `json:"name"`
	Count int32  `json:"count"`
	Limit int32  `json:"limit"`
}

func (c Counter) String() string {
	if c.Limit < 0 {
		return fmt.Sprintf("%s %d", c.Name, c.Count)
	}
	return fmt.Sprintf("%s %d of %d", c.Name, c.Count, c.Limit)
}

// lastShown is the number of recoveries listed in a status.
const lastShown = 3

// Of returns the status of a workload at `now`.
func Of(w *read.Workload, now time.Time) Status {
	t := w.Timeline()
	entries := timeline.Of(t, now)
	root := w.Root()
	s := Status{
		Kind: root.GetKind(), Name: root.GetName(), Namespace: root.GetNamespace(), Quota: quota(w, t),
		Recovery: recovery(t, now), Counters: counters(t), Loss: timeline.Lost(entries),
	}
	for _, o := range t.Objects {
		s.Objects = append(s.Objects, o.String())
	}
	for _, e := range entries {
		if e.Level > 0 {
			s.Last = append(s.Last, e)
		}
	}
	s.Last = s.Last[max(0, len(s.Last)-lastShown):]
	rigid, elastic := w.Workers()
	s.Workers, s.Ready, s.NotReady = workers(slices.Concat(rigid, elastic))
	needed, ready, _ := workers(rigid)
	s.Spares, s.SparesReady, _ = workers(w.Spares())
	s.State, s.WaitsFor = state(s, w, t, needed-ready)
	s.Elastic = elasticText(s, t)
	if c := notInSync(t); c != nil && s.State == Recovering { // in other states, WaitsFor already contains the message
		s.OutOfSync = c.Message
	}
	return s
}

func recovery(t timeline.Workload, now time.Time) *Recovery {
	for _, o := range t.Objects {
		if m, found := recovering.Of(o.Annotations); found && m.Live(now) {
			return &Recovery{Level: m.Level, Object: o.String(), Reason: m.Reason, Deadline: m.Deadline}
		}
	}
	return nil
}

func counters(t timeline.Workload) []Counter {
	var list []Counter
	for _, o := range t.Objects {
		switch {
		case o.Group != nil:
			list = append(list, Counter{restartsOf(t, o), o.Group.Charged, o.Group.MaxRestarts})
		case o.AppWrapper != nil:
			list = append(list, Counter{"resets", o.AppWrapper.Resets, o.AppWrapper.RetryLimit})
		case o.ElasticJob != nil:
			n := int32(0)
			for _, w := range o.ElasticJob.Workers {
				n += w.Failures
			}
			list = append(list, Counter{"worker failures", n, -1})
		}
		if moves, allowed := timeline.Moves(o.Annotations); moves > 0 || allowed >= 0 {
			list = append(list, Counter{"moves", moves, allowed})
		}
	}
	return list
}

// restartsOf returns the name of the restart counter of a group. For groups declared by pods, the counter's name includes the name of
// the pod with index 0, because a LeaderWorkerSet has several groups.
func restartsOf(t timeline.Workload, o timeline.Object) string {
	if o.Kind == "Pod" && t.Objects[0].Name != o.Name {
		return "restarts of " + o.Name
	}
	return "restarts"
}

// workers counts pods. Pods that are being deleted are not counted.
func workers(pods []corev1.Pod) (all, ready int, not []string) {
	pods = slices.Clone(pods)
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for i := range pods {
		p := &pods[i]
		if p.DeletionTimestamp != nil {
			not = append(not, p.Name+": being deleted")
			continue
		}
		all++
		if why := notReady(p); why == "" {
			ready++
		} else {
			not = append(not, p.Name+": "+why)
		}
	}
	return all, ready, not
}

func notReady(p *corev1.Pod) string {
	switch p.Status.Phase {
	case corev1.PodSucceeded:
		return ""
	case corev1.PodFailed:
		return cmp.Or(p.Status.Reason, "failed")
	}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if c.State.Waiting != nil && c.State.Waiting.Reason != "" && c.State.Waiting.Reason != "PodInitializing" {
			return c.State.Waiting.Reason
		}
	}
	for _, c := range p.Status.Conditions {
		switch {
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse:
			return cmp.Or(c.Message, c.Reason)
		case c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue:
			return ""
		}
	}
	if p.Status.Phase == corev1.PodRunning {
		return "running, not ready"
	}
	return "starting"
}

package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-project/holdfast/cli/internal/read"
	"github.com/holdfast-project/holdfast/shared/recovering"
	"github.com/holdfast-project/holdfast/shared/timeline"
)

// Why explains whether a pod was or will be moved.
type Why struct {
	Pod   string `json:"pod"`
	Node  string `json:"node,omitempty"`
	State string `json:"state"`
	// Owners lists the owners from the pod's controller up to the root.
	Owners []string `json:"owners,omitempty"`
	// Avoids lists nodes that the pod must not run on.
	Avoids []string `json:"avoids,omitempty"`
	// Verdict is a sentence that describes whether the pod is moved.
	Verdict string `json:"verdict"`
	// Said lists events and decisions about the pod, and about earlier pods of the same name in its workload, oldest first.
	Said []Note `json:"said,omitempty"`
}

// Note is an event or decision about a pod. At is the time of its last occurrence.
type Note struct {
	At      time.Time `json:"at"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	earlier bool      // it is about an earlier pod of the same name
}

const (
	decisionAnnotation = "holdfast.dev/rescheduling-decision"
	hostsAnnotation    = "sigs.k8s.io/scheduledHosts"
)

// WhyOf explains what is happening to a pod as of `now`.
func WhyOf(p *read.Pod, now time.Time) Why {
	w := Why{Pod: p.Name, Node: p.Spec.NodeName, State: podState(&p.Pod)}
	for _, o := range p.Owners {
		w.Owners = append(w.Owners, o.GetKind()+" "+o.GetName())
	}
	_ = json.Unmarshal([]byte(p.Annotations[hostsAnnotation]), &w.Avoids) // an invalid list excludes nothing
	w.Said = notes(p)
	w.Verdict = verdict(p, w.Said, now)
	return w
}

func podState(p *corev1.Pod) string {
	if p.DeletionTimestamp != nil {
		return "being deleted"
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return "disrupted: " + c.Reason
		}
	}
	if why := notReady(p); why != "" {
		return why
	}
	return string(p.Status.Phase)
}

// notes returns the events about the pod and the last decision about its workload. If several notes are equal, it returns only the last
// one.
func notes(p *read.Pod) []Note {
	var list []Note
	for i := range p.Events {
		e := &p.Events[i]
		if e.Type == corev1.EventTypeWarning || moveReasons[e.Reason] {
			at, uid := read.LastTime(e), e.InvolvedObject.UID
			list = append(list, Note{at, e.Reason, e.Message, uid != p.UID && (uid != "" || at.Before(p.CreationTimestamp.Time))})
		}
	}
	for _, o := range withOwnAnnotations(p.Owners) {
		var d struct{ Time, Pod, Reason, Message string }
		if json.Unmarshal([]byte(o.GetAnnotations()[decisionAnnotation]), &d) != nil || d.Pod != p.Name {
			continue
		}
		if at, _ := time.Parse(time.RFC3339, d.Time); !at.Before(o.GetCreationTimestamp().Time) {
			list = append(list, Note{at, d.Reason, d.Message, at.Before(p.CreationTimestamp.Time)})
		}
	}
	slices.SortStableFunc(list, func(a, b Note) int { return a.At.Compare(b.At) })
	var last []Note
	for i, n := range list {
		if !slices.ContainsFunc(list[i+1:], func(later Note) bool { return later.Reason == n.Reason && later.Message == n.Message }) {
			last = append(last, n)
		}
	}
	return last
}

// moveReasons holds the reasons of the rescheduler's decisions, including the reasons of normal events.
var moveReasons = map[string]bool{
	"Rescheduled": true, "NodeExcluded": true, "RecoveringBelow": true, "GroupMovedAlready": true, "NotTheNodesFault": true,
	"ReschedulingLimited": true, "WouldReschedule": true, "NotMovable": true, "BlockedByDisruptionBudget": true, "NoOtherNode": true,
	"WorkloadFault": true, "ReschedulingExhausted": true,
}

// moved holds the reasons that also explain where the pod's replacement runs. Other decisions do not apply to the replacement.
var moved = map[string]bool{"Rescheduled": true, "NodeExcluded": true}

// verdict returns the rescheduler's last decision. If there is none, the verdict is derived from annotations. It then mentions
// conditions that depend on the rescheduler's configuration, which is unknown here.
func verdict(p *read.Pod, list []Note, now time.Time) string {
	var marks []map[string]string
	owners := withOwnAnnotations(p.Owners)
	for _, o := range owners {
		marks = append(marks, o.GetAnnotations())
	}
	until := recovering.Until(recovering.LevelMove, now, marks...)
	ref := metav1.GetControllerOf(p)
	switch {
	case p.DeletionTimestamp != nil:
		return "it is already being deleted"
	case ref != nil && (ref.Kind == "DaemonSet" || ref.Kind == "Node"):
		return "it is not moved: static pods and the pods of a DaemonSet stay on their node"
	case !until.IsZero():
		return fmt.Sprintf("it is not moved now: its workload is recovering, until %s at the latest", until.UTC().Format(time.RFC3339))
	}
	for _, s := range slices.Backward(list) {
		if moveReasons[s.Reason] && (!s.earlier || moved[s.Reason]) {
			return s.Message
		}
	}
	hidden := slices.IndexFunc(p.Forbidden, func(right string) bool { return strings.HasPrefix(right, "get ") }) // permission to read an owner
	switch {
	case hidden >= 0:
		return "unknown: no permission to " + p.Forbidden[hidden]
	case len(p.Owners) == 0 && p.Missing != "":
		return "it is not moved: its controller could not be found: " + p.Missing
	case len(p.Owners) == 0:
		return bareVerdict(p)
	}
	moves, _ := timeline.Moves(p.Owners[len(p.Owners)-1].GetAnnotations())
	for _, o := range owners {
		if _, allowed := timeline.Moves(o.GetAnnotations()); allowed >= 0 {
			return movesVerdict(moves, allowed)
		}
	}
	return "it is not moved, unless the rescheduler's defaultRetries applies: none of its owners has a valid annotation schedulingRetries"
}

// withOwnAnnotations returns the owners whose annotations apply. A Deployment copies its annotations to its ReplicaSets, so the
// annotations of a ReplicaSet apply only if it is the root.
func withOwnAnnotations(owners []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(owners), func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "ReplicaSet" && o != owners[len(owners)-1]
	})
}

// bareVerdict returns the verdict for a pod without owners, which must itself have the annotation that requests moves.
func bareVerdict(p *read.Pod) string {
	moves, allowed := timeline.Moves(p.Annotations)
	switch {
	case allowed < 0:
		return "it is not moved: it has no controller, and no annotation schedulingRetries of its own"
	case moves >= allowed:
		return movesVerdict(moves, allowed)
	}
	return "it is not moved, unless the rescheduler recreates pods without a controller (barePods.recreate)"
}

func movesVerdict(moves, allowed int32) string {
	switch {
	case allowed == 0:
		return "it is not moved: schedulingRetries is 0"
	case moves >= allowed:
		return fmt.Sprintf("it is not moved: all moves are used, %d of %d", moves, allowed)
	}
	return fmt.Sprintf("it is moved if it cannot run on its node: %d of %d moves are used", moves, allowed)
}

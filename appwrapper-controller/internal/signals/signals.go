// Package signals decides which nodes are bad, and for whom. All that can say so is in one table: labels, taints and conditions of nodes,
// and what a node's kubelet says about the devices of a pod. It is pure, and remembers nothing: every answer follows from the node as it
// is, so that a restart of the controller changes none.
package signals

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Effect is what a signal does to pods.
type Effect string

const (
	// Avoid keeps new pods away.
	Avoid Effect = "Avoid"
	// SoftAvoid prefers other nodes for new pods.
	SoftAvoid Effect = "SoftAvoid"
	// Evacuate keeps new pods away, and resets workloads that run there.
	Evacuate Effect = "Evacuate"
)

// Signal is one line of the table. Exactly one source is set.
type Signal struct {
	Name      string
	Label     *Label
	Taint     *Taint
	Condition *Condition
	// PodResourceHealth: the status of a pod says that a device it holds is Unhealthy. Such a signal is about the pod alone, and
	// does not keep others away.
	PodResourceHealth bool

	// Resources: the signal is about pods that request one of them. None: about all pods.
	Resources []corev1.ResourceName
	Effect    Effect
	// HoldDown is how long it must last before it counts. Only a condition says how long it has lasted.
	HoldDown time.Duration
}

// Label of a node that has one of the values.
type Label struct {
	Key    string   `json:"key"`
	Values []string `json:"values"`
}

// Taint of a node. An empty value or effect matches any.
type Taint struct {
	Key    string             `json:"key"`
	Value  string             `json:"value,omitempty"`
	Effect corev1.TaintEffect `json:"effect,omitempty"`
}

// Condition of a node. Status is the one that means bad: some agents say True, some False.
type Condition struct {
	Type   corev1.NodeConditionType `json:"type"`
	Status corev1.ConditionStatus   `json:"status"`
}

// Table of signals.
type Table []Signal

// Validate returns what is wrong with a signal.
func (s Signal) Validate() error {
	var errs []error
	sources := 0
	for _, set := range []bool{s.Label != nil, s.Taint != nil, s.Condition != nil, s.PodResourceHealth} {
		if set {
			sources++
		}
	}
	if sources != 1 {
		errs = append(errs, fmt.Errorf("%d of label, taint, condition and podResourceHealth are set, want one", sources))
	}
	if s.Label != nil && (s.Label.Key == "" || len(s.Label.Values) == 0) {
		errs = append(errs, errors.New("label: key and values are required"))
	}
	if s.Taint != nil && s.Taint.Key == "" {
		errs = append(errs, errors.New("taint: key is required"))
	}
	if s.Condition != nil && (s.Condition.Type == "" || s.Condition.Status == "") {
		errs = append(errs, errors.New("condition: type and the status that means bad are required"))
	}
	if !slices.Contains([]Effect{Avoid, SoftAvoid, Evacuate}, s.Effect) {
		errs = append(errs, fmt.Errorf("effect: %q is none of Avoid, SoftAvoid, Evacuate", s.Effect))
	}
	switch {
	case s.HoldDown < 0:
		errs = append(errs, errors.New("holdDown: must not be negative"))
	case s.HoldDown > 0 && s.Condition == nil:
		errs = append(errs, errors.New("holdDown: only a condition says since when it has lasted"))
	}
	return errors.Join(errs...)
}

func (t *Taint) matches(taint corev1.Taint) bool {
	return taint.Key == t.Key && (t.Value == "" || taint.Value == t.Value) && (t.Effect == "" || taint.Effect == t.Effect)
}

// Concerns tells whether the signal is about a pod with these requests.
func (s Signal) Concerns(requests map[corev1.ResourceName]bool) bool {
	return len(s.Resources) == 0 || slices.ContainsFunc(s.Resources, func(r corev1.ResourceName) bool { return requests[r] })
}

// WithoutEvacuation is the table for operators who do not want running pods to be moved.
func (t Table) WithoutEvacuation() Table {
	out := make(Table, len(t))
	for i, s := range t {
		if s.Effect == Evacuate {
			s.Effect = Avoid
		}
		out[i] = s
	}
	return out
}

// Unhealthy returns the signal that the status of a pod fulfils: a device of it is Unhealthy, and the signal is about the
// device's resource. Devices of claims count for signals without resources.
func (t Table) Unhealthy(status *corev1.PodStatus) *Signal {
	for i := range t {
		s := &t[i]
		if !s.PodResourceHealth || s.Effect != Evacuate {
			continue
		}
		for _, list := range [][]corev1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
			for _, container := range list {
				if s.holdsUnhealthy(container.AllocatedResourcesStatus) {
					return s
				}
			}
		}
	}
	return nil
}

func (s *Signal) holdsUnhealthy(resources []corev1.ResourceStatus) bool {
	for _, r := range resources {
		if !s.Concerns(map[corev1.ResourceName]bool{r.Name: true}) {
			continue
		}
		for _, device := range r.Resources {
			if device.Health == corev1.ResourceHealthStatusUnhealthy {
				return true
			}
		}
	}
	return false
}

// since returns when the node began to show the signal. Only conditions say so: labels and taints have no time, and count at once.
func (s Signal) since(node *corev1.Node) (at time.Time, shows bool) {
	switch {
	case s.Label != nil:
		value, found := node.Labels[s.Label.Key]
		return time.Time{}, found && slices.Contains(s.Label.Values, value)
	case s.Taint != nil:
		return time.Time{}, slices.ContainsFunc(node.Spec.Taints, s.Taint.matches)
	case s.Condition != nil:
		for _, c := range node.Status.Conditions {
			if c.Type == s.Condition.Type && c.Status == s.Condition.Status {
				return c.LastTransitionTime.Time, true
			}
		}
	}
	return time.Time{}, false
}

// bad reports whether the signal counts against the node, or when it will if it lasts; zero if not by itself.
func (s Signal) bad(node *corev1.Node, now time.Time) (bad bool, next time.Time) {
	since, shows := s.since(node)
	if !shows {
		return false, time.Time{}
	}
	if counts := since.Add(s.HoldDown); now.Before(counts) {
		return false, counts
	}
	return true, time.Time{}
}

// Bad returns the signal for which pods with these requests must leave the node. If there is none yet, next is when there may be one;
// zero if not by itself.
func (t Table) Bad(node *corev1.Node, requests map[corev1.ResourceName]bool, now time.Time) (found *Signal, next time.Time) {
	for i := range t {
		s := &t[i]
		if s.Effect != Evacuate || !s.Concerns(requests) {
			continue
		}
		bad, at := s.bad(node, now)
		if bad {
			return s, time.Time{}
		}
		if next.IsZero() || (!at.IsZero() && at.Before(next)) {
			next = at
		}
	}
	return nil, next
}

// Avoids reports whether pods with these requests are kept away from the node by name, or only preferably (soft). Labels are left to
// the affinity of the pods, which names them and follows their changes.
func (t Table) Avoids(node *corev1.Node, requests map[corev1.ResourceName]bool, soft bool, now time.Time) bool {
	return slices.ContainsFunc(t, func(s Signal) bool {
		if s.Label != nil || (s.Effect == SoftAvoid) != soft || !s.Concerns(requests) {
			return false
		}
		bad, _ := s.bad(node, now)
		return bad
	})
}

// Changed reports whether the node shows other signals than before. A nil node shows none.
func (t Table) Changed(before, after *corev1.Node) bool {
	return slices.ContainsFunc(t, func(s Signal) bool {
		was, is := false, false
		var wasSince, isSince time.Time
		if before != nil {
			wasSince, was = s.since(before)
		}
		if after != nil {
			isSince, is = s.since(after)
		}
		return was != is || !wasSince.Equal(isSince)
	})
}

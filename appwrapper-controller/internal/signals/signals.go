// Package signals decides which nodes are bad, and for which pods. One table holds all signals: node labels, node taints, node conditions,
// and the device health that the kubelet reports for a pod. It performs no I/O and keeps no state, so a restart of the controller does not
// change the result.
package signals

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type Effect string

const (
	// Avoid keeps new pods off the node.
	Avoid Effect = "Avoid"
	// SoftAvoid makes new pods prefer other nodes.
	SoftAvoid Effect = "SoftAvoid"
	// Evacuate keeps new pods off the node, and resets workloads that run there.
	Evacuate Effect = "Evacuate"
)

// Signal is one row of the table. Exactly one source is set.
type Signal struct {
	Name  string `json:"name"`
	Label *Label `json:"label,omitempty"`
	// Taint matches node taints. An empty value or effect matches any.
	Taint *corev1.Taint `json:"taint,omitempty"`
	// Condition matches a node condition by its type and status. The status that marks a node as bad is True for some agents, False for others.
	Condition *corev1.NodeCondition `json:"condition,omitempty"`
	// PodResourceHealth matches pods whose status reports an unhealthy device. It affects only the pod itself and does not keep other pods
	// off the node.
	PodResourceHealth bool `json:"podResourceHealth,omitempty"`

	// Resources restricts the signal to pods that request one of them. Empty means all pods.
	Resources []corev1.ResourceName `json:"resources,omitempty"`
	Effect    Effect                `json:"effect"`
	// HoldDown is how long a condition must last before it counts. Labels and taints have no start time.
	HoldDown metav1.Duration `json:"holdDown,omitzero"`
}

// Label matches nodes on which the label has one of the values.
type Label struct {
	Key    string   `json:"key"`
	Values []string `json:"values"`
}

type Table []Signal

func (s Signal) Validate() error {
	var errs []error
	sources := 0
	for _, set := range []bool{s.Label != nil, s.Taint != nil, s.Condition != nil, s.PodResourceHealth} {
		if set {
			sources++
		}
	}
	if sources != 1 {
		errs = append(errs, fmt.Errorf("%d of label, taint, condition and podResourceHealth are set, want exactly one", sources))
	}
	if s.Label != nil && (s.Label.Key == "" || len(s.Label.Values) == 0) {
		errs = append(errs, errors.New("label: key and values are required"))
	}
	if s.Taint != nil && s.Taint.Key == "" {
		errs = append(errs, errors.New("taint: key is required"))
	}
	if s.Condition != nil && (s.Condition.Type == "" || s.Condition.Status == "") {
		errs = append(errs, errors.New("condition: type and status are required"))
	}
	if !slices.Contains([]Effect{Avoid, SoftAvoid, Evacuate}, s.Effect) {
		errs = append(errs, fmt.Errorf("effect: must be Avoid, SoftAvoid or Evacuate, not %q", s.Effect))
	}
	switch {
	case s.HoldDown.Duration < 0:
		errs = append(errs, errors.New("holdDown: must not be negative"))
	case s.HoldDown.Duration > 0 && s.Condition == nil:
		errs = append(errs, errors.New("holdDown: may be set only for a condition"))
	}
	return errors.Join(errs...)
}

func (s Signal) matchesTaint(taint corev1.Taint) bool {
	t := s.Taint
	return taint.Key == t.Key && (t.Value == "" || taint.Value == t.Value) && (t.Effect == "" || taint.Effect == t.Effect)
}

func (s Signal) Concerns(requests map[corev1.ResourceName]bool) bool {
	return len(s.Resources) == 0 || slices.ContainsFunc(s.Resources, func(r corev1.ResourceName) bool { return requests[r] })
}

// Unhealthy returns the signal triggered by the device health of a pod, or nil. Devices from resource claims trigger only signals without
// resources.
func (t Table) Unhealthy(status *corev1.PodStatus) *Signal {
	devices := UnhealthyDevices(status)
	for i := range t {
		s := &t[i]
		concerned := func(r corev1.ResourceName) bool { return s.Concerns(map[corev1.ResourceName]bool{r: true}) }
		if s.PodResourceHealth && s.Effect == Evacuate && slices.ContainsFunc(devices, concerned) {
			return s
		}
	}
	return nil
}

// UnhealthyDevices returns the resource of each unhealthy device of a pod.
func UnhealthyDevices(status *corev1.PodStatus) (resources []corev1.ResourceName) {
	for _, container := range slices.Concat(status.InitContainerStatuses, status.ContainerStatuses) {
		for _, r := range container.AllocatedResourcesStatus {
			for _, device := range r.Resources {
				if device.Health == corev1.ResourceHealthStatusUnhealthy {
					resources = append(resources, r.Name)
				}
			}
		}
	}
	return resources
}

// since returns when the signal started to count for the node, or will start to count after its hold-down. Labels and taints have no start
// time and take effect immediately.
func (s Signal) since(node *corev1.Node) (at time.Time, shows bool) {
	switch {
	case s.Label != nil:
		value, found := node.Labels[s.Label.Key]
		return time.Time{}, found && slices.Contains(s.Label.Values, value)
	case s.Taint != nil:
		return time.Time{}, slices.ContainsFunc(node.Spec.Taints, s.matchesTaint)
	case s.Condition != nil:
		for _, c := range node.Status.Conditions {
			if c.Type == s.Condition.Type && c.Status == s.Condition.Status {
				return c.LastTransitionTime.Add(s.HoldDown.Duration), true
			}
		}
	}
	return time.Time{}, false
}

// Bad returns the signal that requires pods with these requests to leave the node, or nil. If found is nil, next is the end of the earliest
// hold-down, or zero if there is none.
func (t Table) Bad(node *corev1.Node, requests map[corev1.ResourceName]bool, now time.Time) (found *Signal, next time.Time) {
	for i := range t {
		s := &t[i]
		at, shows := s.since(node)
		switch {
		case !shows || s.Effect != Evacuate || !s.Concerns(requests):
		case !now.Before(at):
			return s, time.Time{}
		case next.IsZero() || at.Before(next):
			next = at
		}
	}
	return nil, next
}

// Avoids reports whether pods with these requests must avoid the node by name, or should avoid it if soft is set. Labels are excluded,
// because pod affinities refer to them directly.
func (t Table) Avoids(node *corev1.Node, requests map[corev1.ResourceName]bool, soft bool, now time.Time) bool {
	return slices.ContainsFunc(t, func(s Signal) bool {
		at, shows := s.since(node)
		return shows && !now.Before(at) && s.Label == nil && (s.Effect == SoftAvoid) == soft && s.Concerns(requests)
	})
}

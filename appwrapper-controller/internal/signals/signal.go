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
	// DeviceTaint: a device that a pod holds by a claim has the taint, and the claim does not tolerate it. Such a signal is about the
	// pods that hold the device; the scheduler keeps others away from it.
	DeviceTaint *Taint

	// Resources: the signal is about pods that request one of them. None: about all pods.
	Resources []corev1.ResourceName
	Effect    Effect
	// HoldDown is how long it must last before it counts.
	HoldDown time.Duration
	// Latch is how long it counts on after it has gone: checks overwrite each other's labels.
	Latch time.Duration
}

// Label of a node that has one of the values.
type Label struct {
	Key    string   `json:"key"`
	Values []string `json:"values"`
}

// Taint of a node, or of a device. An empty value or effect matches any.
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
	for _, set := range []bool{s.Label != nil, s.Taint != nil, s.Condition != nil, s.PodResourceHealth, s.DeviceTaint != nil} {
		if set {
			sources++
		}
	}
	if sources != 1 {
		errs = append(errs, fmt.Errorf("%d of label, taint, condition, podResourceHealth and deviceTaint are set, want one", sources))
	}
	if s.Label != nil && (s.Label.Key == "" || len(s.Label.Values) == 0) {
		errs = append(errs, errors.New("label: key and values are required"))
	}
	if s.Taint != nil && s.Taint.Key == "" {
		errs = append(errs, errors.New("taint: key is required"))
	}
	if s.DeviceTaint != nil {
		errs = append(errs, s.validateDeviceTaint()...)
	}
	if s.Condition != nil && (s.Condition.Type == "" || s.Condition.Status == "") {
		errs = append(errs, errors.New("condition: type and the status that means bad are required"))
	}
	if !slices.Contains([]Effect{Avoid, SoftAvoid, Evacuate}, s.Effect) {
		errs = append(errs, fmt.Errorf("effect: %q is none of Avoid, SoftAvoid, Evacuate", s.Effect))
	}
	if s.HoldDown < 0 || s.Latch < 0 {
		errs = append(errs, errors.New("holdDown and latch are not negative"))
	}
	return errors.Join(errs...)
}

func (s Signal) validateDeviceTaint() []error {
	var errs []error
	if s.DeviceTaint.Key == "" {
		errs = append(errs, errors.New("deviceTaint: key is required"))
	}
	if s.Effect != Evacuate {
		errs = append(errs, errors.New("deviceTaint: effect has to be Evacuate, as the scheduler itself keeps pods away from tainted devices"))
	}
	if len(s.Resources) > 0 || s.Latch > 0 {
		errs = append(errs, errors.New("deviceTaint: resources and latch have no meaning for it"))
	}
	return errs
}

// shows tells whether the node has the signal now.
func (s Signal) shows(node *corev1.Node) bool {
	switch {
	case s.Label != nil:
		value, found := node.Labels[s.Label.Key]
		return found && slices.Contains(s.Label.Values, value)
	case s.Taint != nil:
		return slices.ContainsFunc(node.Spec.Taints, s.Taint.matches)
	case s.Condition != nil:
		return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == s.Condition.Type && c.Status == s.Condition.Status
		})
	}
	return false
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

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

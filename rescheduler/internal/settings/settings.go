// Package settings defines the rescheduling key of the configuration file: its fields, defaults and limits. It performs no I/O.
package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
)

// Rescheduling is the rescheduling key of the configuration file.
type Rescheduling struct {
	// DryRun publishes decisions without carrying them out.
	DryRun bool `json:"dryRun,omitempty"`
	// DefaultRetries is the number of moves for workloads without the schedulingRetries annotation. With 0, their pods are not moved.
	DefaultRetries int `json:"defaultRetries,omitempty"`
	// Namespaces lists the namespaces whose pods are managed; empty means all.
	Namespaces []string `json:"namespaces,omitempty"`
	// ExcludedNamespaces are not managed.
	ExcludedNamespaces []string `json:"excludedNamespaces,omitempty"`
	// Signals change rows of the catalogue, by name.
	Signals map[string]Signal `json:"signals,omitempty"`
	// GroupSettle is how long further failures in a group count as consequences of the first.
	GroupSettle metav1.Duration `json:"groupSettle,omitzero"`
	// Stabilization is how long a slot that was moved must be healthy before its moves no longer count.
	Stabilization metav1.Duration `json:"stabilization,omitzero"`
	// RelaxAfter is how long a pod with node affinity may be unschedulable before it is replaced by a pod without the affinity. During
	// this time an autoscaler can add a node.
	RelaxAfter metav1.Duration `json:"relaxAfter,omitzero"`

	Enforcement Enforcement `json:"enforcement,omitempty"`
	Limits      Limits      `json:"limits,omitempty"`
	Breaker     Breaker     `json:"breaker,omitempty"`
	BarePods    BarePods    `json:"barePods,omitempty"`
	Blame       Blame       `json:"blame,omitempty"`
}

// Signal changes a row of the catalogue. Absent fields leave the row unchanged.
type Signal struct {
	Trigger   *signals.Trigger `json:"trigger,omitempty"`
	Action    *signals.Action  `json:"action,omitempty"`
	After     *metav1.Duration `json:"after,omitempty"`
	TTL       *metav1.Duration `json:"ttl,omitempty"`
	Restarts  *int32           `json:"restarts,omitempty"`
	ExitCodes []int32          `json:"exitCodes,omitempty"`
}

// Mode is how a pod is kept off excluded nodes.
type Mode string

const (
	// Plugin uses only the annotation that the PodRescheduling plugin reads.
	Plugin Mode = "Plugin"
	// Required uses required node affinity, which every scheduler supports.
	Required Mode = "Required"
)

// Enforcement is how pods are kept off excluded nodes.
type Enforcement struct {
	// SchedulerNames lists the schedulers that run the plugin. Their pods need no affinity.
	SchedulerNames []string `json:"schedulerNames,omitempty"`
	// Otherwise is the mode for pods of all other schedulers.
	Otherwise Mode `json:"otherwise,omitempty"`
}

// Rate allows `burst` moves at once, and then one more per `every`.
type Rate struct {
	Burst int             `json:"burst"`
	Every metav1.Duration `json:"every"`
}

// Limits holds the limits on the rate of moves. A burst of 0 means no limit.
type Limits struct {
	Workload  Rate `json:"workload,omitempty"`
	Node      Rate `json:"node,omitempty"`
	Namespace Rate `json:"namespace,omitempty"`
	Cluster   Rate `json:"cluster,omitempty"`
}

// Breaker stops all moves for `pause` after more than `moves` moves within `window`. 0 moves disables it.
type Breaker struct {
	Moves  int             `json:"moves"`
	Window metav1.Duration `json:"window"`
	Pause  metav1.Duration `json:"pause"`
}

// BarePods configures pods without a controller.
type BarePods struct {
	// Recreate means that bare pods with the schedulingRetries annotation are recreated, each with a new name.
	Recreate bool `json:"recreate,omitempty"`
}

// Blame configures the taints on nodes on which too many pods fail.
type Blame struct {
	// Taint enables taints. The default is false.
	Taint bool `json:"taint,omitempty"`
	// Threshold is the required sum of complaint weights within Window.
	Threshold int             `json:"threshold,omitempty"`
	Window    metav1.Duration `json:"window,omitzero"`
	// MinPods and MinWorkloads are the minimum numbers of pods and workloads that must have failed.
	MinPods      int `json:"minPods,omitempty"`
	MinWorkloads int `json:"minWorkloads,omitempty"`
	// MaxNodes and MaxShare (percent of all nodes, at least one node) limit the number of tainted nodes.
	MaxNodes int `json:"maxNodes,omitempty"`
	MaxShare int `json:"maxShare,omitempty"`
	// TTL is how long a node stays tainted.
	TTL metav1.Duration `json:"ttl,omitzero"`
}

func duration(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d} }

// Default returns the settings that apply without a file.
func Default() Rescheduling {
	return Rescheduling{
		ExcludedNamespaces: []string{"kube-system", "kube-node-lease", "kube-public"},
		GroupSettle:        duration(2 * time.Minute),
		Stabilization:      duration(24 * time.Hour),
		RelaxAfter:         duration(5 * time.Minute),
		Enforcement:        Enforcement{SchedulerNames: []string{"holdfast-scheduler"}, Otherwise: Required},
		Limits: Limits{
			Workload:  Rate{5, duration(time.Minute)},
			Node:      Rate{10, duration(10 * time.Second)},
			Namespace: Rate{50, duration(time.Second)},
			Cluster:   Rate{100, duration(200 * time.Millisecond)},
		},
		Breaker: Breaker{Moves: 500, Window: duration(10 * time.Minute), Pause: duration(10 * time.Minute)},
		Blame: Blame{
			Threshold: 6, Window: duration(10 * time.Minute), MinPods: 3, MinWorkloads: 2, MaxNodes: 10, MaxShare: 5, TTL: duration(30 * time.Minute),
		},
	}
}

// Table returns the catalogue with the configured changes. Call it after Validate.
func (r Rescheduling) Table() signals.Table {
	table := signals.Default()
	for i := range table {
		if change, found := r.Signals[table[i].Name]; found {
			table[i] = change.apply(table[i])
		}
	}
	return table
}

func (s Signal) apply(row signals.Row) signals.Row {
	put(&row.Trigger, s.Trigger)
	put(&row.Action, s.Action)
	if s.After != nil {
		row.After = s.After.Duration
	}
	if s.TTL != nil {
		row.TTL = s.TTL.Duration
	}
	put(&row.Restarts, s.Restarts)
	if s.ExitCodes != nil {
		row.ExitCodes = s.ExitCodes
	}
	return row
}

func put[T any](target, value *T) {
	if value != nil {
		*target = *value
	}
}

// Manages reports whether the pods of a namespace are managed.
func (r Rescheduling) Manages(namespace string) bool {
	return !slices.Contains(r.ExcludedNamespaces, namespace) && (len(r.Namespaces) == 0 || slices.Contains(r.Namespaces, namespace))
}

// Mode returns the mode for pods of the scheduler.
func (e Enforcement) Mode(schedulerName string) Mode {
	if slices.Contains(e.SchedulerNames, schedulerName) {
		return Plugin
	}
	return e.Otherwise
}

// Validate returns all errors, each with its key.
func (r Rescheduling) Validate() error {
	p := problems{}
	p.when(r.DefaultRetries < 0, "defaultRetries: %d is below 0", r.DefaultRetries)
	p.when(!slices.Contains([]Mode{Plugin, Required}, r.Enforcement.Otherwise),
		"enforcement.otherwise: %q is neither Plugin nor Required", r.Enforcement.Otherwise)
	p.when(min(r.GroupSettle.Duration, r.Stabilization.Duration, r.RelaxAfter.Duration) < 0,
		"groupSettle, stabilization and relaxAfter must not be below 0")
	p.limits(r.Limits)
	b := r.Breaker
	p.when(b.Moves < 0 || b.Moves > 0 && (b.Window.Duration <= 0 || b.Pause.Duration <= 0),
		"breaker: moves, window and pause must be greater than 0; moves 0 turns it off")
	p.blame(r.Blame)
	p.signals(r.Signals)
	slices.SortFunc(p, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(p...)
}

type problems []error

func (p *problems) when(wrong bool, format string, args ...any) {
	if wrong {
		*p = append(*p, fmt.Errorf(format, args...))
	}
}

func (p *problems) limits(l Limits) {
	for name, rate := range map[string]Rate{"workload": l.Workload, "node": l.Node, "namespace": l.Namespace, "cluster": l.Cluster} {
		p.when(rate.Burst < 0 || rate.Burst > 0 && rate.Every.Duration <= 0,
			"limits.%s: burst %d and every %s must be greater than 0; burst 0 means no limit", name, rate.Burst, rate.Every.Duration)
	}
}

func (p *problems) blame(b Blame) {
	if !b.Taint {
		return
	}
	p.when(b.Threshold < 1, "blame.threshold: %d is below 1", b.Threshold)
	p.when(b.Window.Duration <= 0, "blame.window: must be greater than 0, not %s", b.Window.Duration)
	p.when(b.TTL.Duration <= 0, "blame.ttl: must be greater than 0, not %s", b.TTL.Duration)
	p.when(b.MinPods < 1, "blame.minPods: %d is below 1", b.MinPods)
	p.when(b.MinWorkloads < 2, "blame.minWorkloads: %d is below 2: one workload alone never taints a node", b.MinWorkloads)
	p.when(b.MaxNodes < 1, "blame.maxNodes: %d is below 1", b.MaxNodes)
	p.when(b.MaxShare < 1 || b.MaxShare > 50, "blame.maxShare: %d is not between 1 and 50 percent", b.MaxShare)
}

func (p *problems) signals(changes map[string]Signal) {
	var known []string
	rows := map[string]signals.Row{}
	for _, row := range signals.Default() {
		known = append(known, row.Name)
		rows[row.Name] = row
	}
	for name, change := range changes {
		row, found := rows[name]
		if !found {
			*p = append(*p, fmt.Errorf("signals.%s: unknown signal; known signals are %v", name, known))
			continue
		}
		row = change.apply(row)
		p.when(!slices.Contains([]signals.Trigger{signals.Always, signals.Annotated, signals.Off}, row.Trigger),
			"signals.%s.trigger: must be Always, Annotated or Off", name)
		p.when(!slices.Contains([]signals.Action{signals.Move, signals.Record, signals.Never}, row.Action),
			"signals.%s.action: must be Move, Record or Never", name)
		p.when(row.After < 0, "signals.%s.after: %s is below 0", name, row.After)
		p.when(row.Restarts < 0, "signals.%s.restarts: %d is below 0", name, row.Restarts)
		p.when(row.Action != signals.Never && row.TTL <= 0, "signals.%s.ttl: must be greater than 0, otherwise the pod would return to its node", name)
	}
}

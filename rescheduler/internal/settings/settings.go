package settings

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/rescheduler/internal/policy"
	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
)

// Rescheduling is the key rescheduling of the configuration file.
type Rescheduling struct {
	// DryRun: decisions are made and said, nothing is done.
	DryRun bool `json:"dryRun,omitempty"`
	// DefaultRetries of workloads that do not ask by the annotation schedulingRetries. 0: they are left alone.
	DefaultRetries int `json:"defaultRetries,omitempty"`
	// RetriesPerReplica multiplies the retries of a workload by its replicas.
	RetriesPerReplica bool `json:"retriesPerReplica,omitempty"`
	// Namespaces that are looked at; empty: all.
	Namespaces []string `json:"namespaces,omitempty"`
	// ExcludedNamespaces are left alone.
	ExcludedNamespaces []string `json:"excludedNamespaces,omitempty"`
	// Signals change rows of the catalogue, by their names.
	Signals map[string]Signal `json:"signals,omitempty"`
	// Wellness is how long a pod of the same template has to be ready elsewhere to speak against a node.
	Wellness Duration `json:"wellness,omitempty"`
	// GangSettle is how long further failures in a group are taken for echoes of the first.
	GangSettle Duration `json:"gangSettle,omitempty"`
	// Stabilization is how long a pod has to be ready for its workload to get a move back.
	Stabilization Duration `json:"stabilization,omitempty"`
	// RelaxAfter is how long a pod may find no node before its exclusions are lifted. Negative is refused; 0 is at once.
	RelaxAfter Duration `json:"relaxAfter,omitempty"`
	// RelaxFor is how long nobody is kept away after that, where exclusions are node affinity.
	RelaxFor Duration `json:"relaxFor,omitempty"`

	Enforcement Enforcement `json:"enforcement,omitempty"`
	Admission   Admission   `json:"admission,omitempty"`
	Limits      Limits      `json:"limits,omitempty"`
	Breaker     Breaker     `json:"breaker,omitempty"`
	BarePods    BarePods    `json:"barePods,omitempty"`
	Blame       Blame       `json:"blame,omitempty"`
}

// Signal changes a row; what is absent stays as it is.
type Signal struct {
	Trigger   *signals.Trigger `json:"trigger,omitempty"`
	Action    *signals.Action  `json:"action,omitempty"`
	Scope     *signals.Scope   `json:"scope,omitempty"`
	After     *Duration        `json:"after,omitempty"`
	TTL       *Duration        `json:"ttl,omitempty"`
	Restarts  *int32           `json:"restarts,omitempty"`
	ExitCodes []int32          `json:"exitCodes,omitempty"`
	Charged   *bool            `json:"charged,omitempty"`
	Siblings  *bool            `json:"siblings,omitempty"`
	MaxMoves  *int             `json:"maxMoves,omitempty"`
	Blame     *int             `json:"blame,omitempty"`
}

// Mode is how a pod is kept away from nodes.
type Mode string

const (
	// Plugin: by the annotation alone, which the PodRescheduling plugin reads.
	Plugin Mode = "Plugin"
	// Required and Preferred: by node affinity of the pod, which every scheduler understands.
	Required  Mode = "Required"
	Preferred Mode = "Preferred"
)

// Enforcement says how pods are kept away from nodes.
type Enforcement struct {
	// SchedulerNames are those with the plugin: their pods need no affinity.
	SchedulerNames []string `json:"schedulerNames,omitempty"`
	// Otherwise is the mode of pods of all other schedulers.
	Otherwise Mode `json:"otherwise,omitempty"`
}

// Way is where exclusions come into pods.
type Way string

const (
	Webhook Way = "Webhook"
	// Policy: a MutatingAdmissionPolicy brings them, out of ConfigMaps that the controller keeps.
	Policy Way = "Policy"
)

// Reach says which namespaces are labelled for the webhook.
type Reach string

const (
	// Managed: those with pods that are managed. Only so the replacement of the first pod that fails is met.
	Managed Reach = "Managed"
	// Excluding: those with live exclusions.
	Excluding Reach = "Excluding"
)

// Admission says how exclusions come into pods.
type Admission struct {
	Way   Way   `json:"way,omitempty"`
	Reach Reach `json:"reach,omitempty"`
}

// Rate lets burst moves go at once and one more in each `every`.
type Rate struct {
	Burst int      `json:"burst"`
	Every Duration `json:"every"`
}

// Limits of moves; a burst of 0 is no limit.
type Limits struct {
	Workload  Rate `json:"workload,omitempty"`
	Node      Rate `json:"node,omitempty"`
	Namespace Rate `json:"namespace,omitempty"`
	Cluster   Rate `json:"cluster,omitempty"`
}

// Breaker stops all moves for `pause` after more than `moves` in `window`. 0 moves is no breaker.
type Breaker struct {
	Moves  int      `json:"moves"`
	Window Duration `json:"window"`
	Pause  Duration `json:"pause"`
}

// BarePods are pods without a controller.
type BarePods struct {
	// Recreate: those that ask for it by schedulingRetries are made again, under another name.
	Recreate bool `json:"recreate,omitempty"`
}

// Blame taints nodes on which too much fails.
type Blame struct {
	// Taint: off unless it is asked for.
	Taint bool `json:"taint,omitempty"`
	// Threshold is the sum of weights within Window.
	Threshold int      `json:"threshold,omitempty"`
	Window    Duration `json:"window,omitempty"`
	// MinPods and MinWorkloads have to be among them.
	MinPods      int `json:"minPods,omitempty"`
	MinWorkloads int `json:"minWorkloads,omitempty"`
	// MaxNodes and MaxShare (per cent of all nodes, at least one) bound the tainted nodes.
	MaxNodes int `json:"maxNodes,omitempty"`
	MaxShare int `json:"maxShare,omitempty"`
	// TTL of a taint.
	TTL Duration `json:"ttl,omitempty"`
}

func minutes(n int) Duration { return Duration(time.Duration(n) * time.Minute) }

// Default holds without a file.
func Default() Rescheduling {
	return Rescheduling{
		ExcludedNamespaces: []string{"kube-system", "kube-node-lease", "kube-public"},
		Wellness:           minutes(2),
		GangSettle:         minutes(2),
		Stabilization:      minutes(10),
		RelaxAfter:         Duration(10 * time.Second),
		RelaxFor:           minutes(10),
		Enforcement:        Enforcement{SchedulerNames: []string{"holdfast-scheduler"}, Otherwise: Required},
		Admission:          Admission{Way: Webhook, Reach: Managed},
		Limits: Limits{
			Workload:  Rate{5, minutes(1)},
			Node:      Rate{10, Duration(10 * time.Second)},
			Namespace: Rate{50, Duration(time.Second)},
			Cluster:   Rate{100, Duration(200 * time.Millisecond)},
		},
		Breaker: Breaker{Moves: 500, Window: minutes(10), Pause: minutes(10)},
		Blame: Blame{
			Threshold: 6, Window: minutes(10), MinPods: 3, MinWorkloads: 2, MaxNodes: 10, MaxShare: 5, TTL: minutes(30),
		},
	}
}

// Table is the catalogue with the changes. Call it on what Validate accepts.
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
	put(&row.Scope, s.Scope)
	put(&row.After, (*time.Duration)(s.After))
	put(&row.TTL, (*time.Duration)(s.TTL))
	put(&row.Restarts, s.Restarts)
	put(&row.Charged, s.Charged)
	put(&row.Siblings, s.Siblings)
	put(&row.MaxMoves, s.MaxMoves)
	put(&row.Blame, s.Blame)
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

// Rules are what decisions are made by.
func (r Rescheduling) Rules() policy.Rules {
	return policy.Rules{
		RetriesPerReplica: r.RetriesPerReplica, Wellness: time.Duration(r.Wellness), GangSettle: time.Duration(r.GangSettle),
		DryRun: r.DryRun, Taints: r.Blame.Taint, RecreateBare: r.BarePods.Recreate,
	}
}

// Budgets count the moves within the limits.
func (r Rescheduling) Budgets() *policy.Budgets {
	rate := func(r Rate) policy.Rate { return policy.Rate{Burst: r.Burst, Every: time.Duration(r.Every)} }
	return policy.NewBudgets(
		policy.Limits{
			Workload: rate(r.Limits.Workload), Node: rate(r.Limits.Node), Namespace: rate(r.Limits.Namespace), Cluster: rate(r.Limits.Cluster),
		},
		policy.Breaker{Moves: r.Breaker.Moves, Window: time.Duration(r.Breaker.Window), Pause: time.Duration(r.Breaker.Pause)},
	)
}

// Mode of a pod's scheduler.
func (e Enforcement) Mode(schedulerName string) Mode {
	if slices.Contains(e.SchedulerNames, schedulerName) {
		return Plugin
	}
	return e.Otherwise
}

// Validate returns all that is wrong, each with its key.
func (r Rescheduling) Validate() error {
	p := problems{}
	p.when(r.DefaultRetries < 0, "defaultRetries: %d is below 0", r.DefaultRetries)
	p.when(!slices.Contains([]Mode{Plugin, Required, Preferred}, r.Enforcement.Otherwise),
		"enforcement.otherwise: %q is none of Plugin, Required, Preferred", r.Enforcement.Otherwise)
	p.when(!slices.Contains([]Way{Webhook, Policy}, r.Admission.Way), "admission.way: %q is none of Webhook, Policy", r.Admission.Way)
	p.when(!slices.Contains([]Reach{Managed, Excluding}, r.Admission.Reach),
		"admission.reach: %q is none of Managed, Excluding", r.Admission.Reach)
	p.limits(r.Limits)
	b := r.Breaker
	p.when(b.Moves < 0 || b.Moves > 0 && (b.Window <= 0 || b.Pause <= 0), "breaker: moves, window and pause have to be above 0; moves 0 turns it off")
	p.blame(r.Blame)
	p.signals(r.Signals)
	slices.SortFunc(p, func(a, b error) int {
		if a.Error() < b.Error() {
			return -1
		}
		return 1
	})
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
		p.when(rate.Burst < 0 || rate.Burst > 0 && rate.Every <= 0, "limits.%s: burst %d and every %s have to be above 0; burst 0 is no limit",
			name, rate.Burst, time.Duration(rate.Every))
	}
}

func (p *problems) blame(b Blame) {
	if !b.Taint {
		return
	}
	p.when(b.Threshold < 1, "blame.threshold: %d is below 1", b.Threshold)
	p.when(b.Window <= 0, "blame.window: %s is not above 0", time.Duration(b.Window))
	p.when(b.TTL <= 0, "blame.ttl: %s is not above 0", time.Duration(b.TTL))
	p.when(b.MinPods < 1 || b.MinWorkloads < 1, "blame: minPods and minWorkloads are at least 1")
	p.when(b.MaxNodes < 1, "blame.maxNodes: %d is below 1", b.MaxNodes)
	p.when(b.MaxShare < 1 || b.MaxShare > 50, "blame.maxShare: %d is not from 1 to 50 per cent", b.MaxShare)
}

func (p *problems) signals(changes map[string]Signal) {
	var known []string
	rows := map[string]signals.Row{}
	for _, row := range signals.Default() {
		known = append(known, row.Name)
		rows[row.Name] = row
	}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if !slices.Contains(known, name) {
			*p = append(*p, fmt.Errorf("signals.%s: there is no such row; known are %v", name, known))
			continue
		}
		p.signal(name, changes[name])
		changed := changes[name].apply(rows[name])
		p.when(changed.Action != signals.Never && changed.TTL <= 0, "signals.%s.ttl: it is not above 0, so that the pod would come back to its node", name)
	}
}

func (p *problems) signal(name string, s Signal) {
	p.when(s.Trigger != nil && !slices.Contains([]signals.Trigger{signals.Always, signals.Annotated, signals.Off}, *s.Trigger),
		"signals.%s.trigger: it is none of Always, Annotated, Off", name)
	p.when(s.Action != nil && !slices.Contains([]signals.Action{signals.Move, signals.Record, signals.Never}, *s.Action),
		"signals.%s.action: it is none of Move, Record, Never", name)
	p.when(s.Scope != nil && !slices.Contains([]signals.Scope{signals.Workload, signals.Slot}, *s.Scope),
		"signals.%s.scope: it is none of Workload, Slot", name)
	p.when(s.Restarts != nil && *s.Restarts < 0 || s.MaxMoves != nil && *s.MaxMoves < 0 || s.Blame != nil && *s.Blame < 0,
		"signals.%s: restarts, maxMoves and blame are not below 0", name)
}

package policy

import (
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
)

// Complaints adds up the failures of pods of different workloads on each node, and decides which nodes are tainted.
type Complaints struct {
	rules  settings.Blame
	byNode map[string][]complaint
}

type complaint struct {
	pod, workload string
	weight        int
	at            time.Time
}

// NewComplaints returns none.
func NewComplaints(rules settings.Blame) *Complaints {
	return &Complaints{rules: rules, byNode: map[string][]complaint{}}
}

// maxComplaints is the maximum number about a node.
const maxComplaints = 256

// Add adds a complaint of a pod. Each pod complains once.
func (c *Complaints) Add(node, pod, workload string, weight int, now time.Time) {
	kept := slices.DeleteFunc(c.byNode[node], func(old complaint) bool { return old.pod == pod || now.Sub(old.at) >= time.Duration(c.rules.Window) })
	kept = append(kept, complaint{pod, workload, weight, now})
	c.byNode[node] = kept[max(0, len(kept)-maxComplaints):]
}

// Suffice reports whether the complaints about the node reach the threshold, from enough pods of enough workloads.
func (c *Complaints) Suffice(node string, now time.Time) bool {
	weight, pods, workloads := 0, 0, map[string]bool{}
	for _, one := range c.byNode[node] {
		if now.Sub(one.at) < time.Duration(c.rules.Window) {
			weight, pods = weight+one.weight, pods+1
			workloads[one.workload] = true
		}
	}
	return weight >= c.rules.Threshold && pods >= c.rules.MinPods && len(workloads) >= c.rules.MinWorkloads
}

// MayTaint reports whether one more node may be tainted, given the number of tainted nodes and of all nodes.
func (c *Complaints) MayTaint(tainted, nodes int) bool {
	return tainted < min(c.rules.MaxNodes, max(1, nodes*c.rules.MaxShare/100))
}

// Clear removes all complaints about the node.
func (c *Complaints) Clear(node string) { delete(c.byNode, node) }

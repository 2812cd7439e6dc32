// Package blame adds up the failures of pods of different workloads on each node, and decides which nodes are tainted. It does no I/O.
package blame

import (
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
)

// Board holds the complaints about nodes.
type Board struct {
	rules settings.Blame
	said  map[string][]complaint
}

type complaint struct {
	pod, workload string
	weight        int
	at            time.Time
}

// New returns an empty board.
func New(rules settings.Blame) *Board { return &Board{rules: rules, said: map[string][]complaint{}} }

// most is the maximum number of complaints about a node.
const most = 256

// Say adds a complaint of a pod. Each pod complains once.
func (b *Board) Say(node, pod, workload string, weight int, now time.Time) {
	kept := slices.DeleteFunc(b.said[node], func(c complaint) bool { return c.pod == pod || now.Sub(c.at) >= time.Duration(b.rules.Window) })
	kept = append(kept, complaint{pod, workload, weight, now})
	b.said[node] = kept[max(0, len(kept)-most):]
}

// Guilty reports whether the complaints about the node reach the threshold, from enough pods of enough workloads.
func (b *Board) Guilty(node string, now time.Time) bool {
	weight, pods, workloads := 0, 0, map[string]bool{}
	for _, c := range b.said[node] {
		if now.Sub(c.at) < time.Duration(b.rules.Window) {
			weight, pods = weight+c.weight, pods+1
			workloads[c.workload] = true
		}
	}
	return weight >= b.rules.Threshold && pods >= b.rules.MinPods && len(workloads) >= b.rules.MinWorkloads
}

// Room reports whether one more node may be tainted, given the number of tainted nodes and of all nodes.
func (b *Board) Room(tainted, nodes int) bool {
	return tainted < min(b.rules.MaxNodes, max(1, nodes*b.rules.MaxShare/100))
}

// Clear removes all complaints about the node.
func (b *Board) Clear(node string) { delete(b.said, node) }

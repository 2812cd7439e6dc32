package policy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/indexes"
)

// resize grows or shrinks the set of desired indexes to the desired size. Remaining indexes keep their pods.
func (d *decider) resize() {
	if g := d.out.Status.GivenBack; g != nil && (int(g.Wanted) != d.Settings.Wanted || d.reached(g.Since.Add(d.Settings.SurplusRetry))) {
		d.out.Status.GivenBack = nil
	}
	size := d.Settings.Wanted
	if g := d.out.Status.GivenBack; g != nil {
		size = min(size, max(d.Settings.Min, int(g.Replicas)))
	}
	d.resizeTo(size)
	if removed := d.dropUnschedulable(size); len(removed) > 0 {
		d.m.Indexes = d.m.Indexes.Without(indexes.Of(removed...))
		d.resizeTo(len(d.m.Indexes))
	}
}

func (d *decider) resizeTo(size int) {
	if surplus := len(d.m.Indexes) - size; surplus > 0 {
		d.m.Indexes = d.m.Indexes.Without(indexes.Of(d.removalOrder(d.m.Indexes)[:surplus]...))
	}
	added := d.candidates(size - len(d.m.Indexes))
	for _, i := range added {
		d.ignoreTermination(i)
	}
	d.m.Indexes = d.m.Indexes.With(added...)
	maps.DeleteFunc(d.m.Workers, func(i int, _ v1alpha1.WorkerHistory) bool { return !d.m.Indexes.Has(i) })
	d.m.Completed = d.m.Completed.Intersect(d.m.Indexes)
}

// removalOrder returns the workers in the order in which they are removed. Among workers of equal value, the one with the highest index is
// removed first.
func (d *decider) removalOrder(set []int) []int {
	return slices.SortedFunc(slices.Values(set), func(a, b int) int {
		return cmp.Or(cmp.Compare(d.value(a), d.value(b)), cmp.Compare(b, a))
	})
}

// value returns how valuable a worker is when workers must be removed. From low to high: abandoned, not running, not ready, on a draining
// node, running. Worker 0 may host the store and is the most valuable running worker. Completed workers use no resources and count toward
// the success policy, so they are removed last.
func (d *decider) value(i int) int {
	pod, found := d.Pods[i]
	switch {
	case d.m.Completed.Has(i) || (found && pod.Phase == corev1.PodSucceeded):
		return 6
	case d.abandoned(i):
		return 0
	case !found || !pod.running():
		return 1
	case i == 0:
		return 5
	case !pod.Ready:
		return 2
	case pod.Node == NodeDraining:
		return 3
	}
	return 4
}

// candidates returns n indexes to add. Indexes with a pod, for example from the upstream controller, come first in order of their value. Then
// come the lowest free indexes, including those whose previous pod is still terminating, so that repeated scaling reuses the same names.
func (d *decider) candidates(n int) []int {
	if n <= 0 {
		return nil
	}
	var existing []int
	for _, i := range d.podIndexes() {
		if !d.m.Indexes.Has(i) && !d.Pods[i].Terminating {
			existing = append(existing, i)
		}
	}
	existing = d.removalOrder(existing)
	slices.Reverse(existing)
	found := existing[:min(n, len(existing))]
	used := d.m.Indexes.With(found...)
	for i := 0; len(found) < n; i++ {
		if !used.Has(i) {
			found = append(found, i)
		}
	}
	return found
}

// ignoreTermination prevents a pod from being counted as disrupted when it is terminating because its index was removed.
func (d *decider) ignoreTermination(i int) {
	if pod, found := d.Pods[i]; found && pod.Terminating {
		h := d.m.Workers[i]
		h.LastPod, h.LastReason = pod.UID, ""
		d.m.Workers[i] = h
	}
}

// dropUnschedulable returns the workers beyond the minimum that have been unschedulable for surplusPendingSeconds. Abandoned workers stay and
// do not count toward the minimum: their pods are kept for their logs, and removing them would reset their failures.
func (d *decider) dropUnschedulable(size int) (removed []int) {
	timeout := d.Settings.SurplusPending
	if timeout == 0 || size <= d.Settings.Min {
		return nil
	}
	var unschedulable []int
	for _, i := range d.m.Indexes {
		pod, found := d.Pods[i]
		if found && pod.pending() && !pod.Bound && !pod.Terminating && d.reached(pod.Created.Add(timeout)) {
			unschedulable = append(unschedulable, i)
		}
	}
	smaller := max(d.Settings.Min+len(d.abandonedWorkers()), size-len(unschedulable))
	if smaller < size {
		removed = d.removalOrder(unschedulable)[:size-smaller]
		d.out.Status.GivenBack = &v1alpha1.GivenBack{Replicas: int32(smaller), Wanted: int32(d.Settings.Wanted), Since: *toMicro(d.Now)}
		d.requeueAt(d.Now.Add(d.Settings.SurplusRetry))
		d.event(corev1.EventTypeWarning, "", EventGivenBack,
			fmt.Sprintf("%d workers could not be scheduled for %s: continuing with %d workers instead of %d, retrying in %s",
				len(unschedulable), timeout, smaller, size, d.Settings.SurplusRetry))
	}
	return removed
}

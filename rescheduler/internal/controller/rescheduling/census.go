package rescheduling

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/rescheduler/internal/owners"
	"github.com/holdfast-project/holdfast/rescheduler/internal/policy"
	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
)

const (
	// censusFor is how long a census is used, so that decisions about N pods of one workload visit N pods and not N². The state of the
	// siblings changes within minutes.
	censusFor = time.Second
	// wellness is how long a pod must be ready before it counts as evidence for its template.
	wellness = 2 * time.Minute
)

// census summarizes the pods of a workload. It is immutable.
type census struct {
	taken    time.Time
	living   []string // templates of pods that have not ended, without duplicates
	byKind   map[kind]policy.Siblings
	troubled time.Time // when a pod without an identity last failed or was not ready
}

// kind groups pods of one template that match the same row.
type kind struct{ alike, row string }

func (c *census) siblings(pod *corev1.Pod, row string) policy.Siblings {
	return c.byKind[kind{owners.Alike(pod), row}]
}

// census returns the census of the workload's pods, at most censusFor old.
func (r *Reconciler) census(ctx context.Context, s *scope) (*census, error) {
	if known, found := r.censuses.Get(s.subject.UID); found {
		if c := known.(*census); s.now.Sub(c.taken) < censusFor && !s.now.Before(c.taken) {
			return c, nil
		}
	}
	c := &census{taken: s.now, byKind: map[kind]policy.Siblings{}}
	living := map[string]bool{}
	err := r.kin(ctx, s, func(pod *corev1.Pod) error {
		if template := owners.Template(pod); !ended(pod) && !living[template] {
			living[template] = true
			c.living = append(c.living, template)
		}
		r.count(c, pod, s.now)
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.censuses.Add(s.subject.UID, c)
	return c, nil
}

// count adds a pod to a census under construction.
func (r *Reconciler) count(c *census, pod *corev1.Pod, now time.Time) {
	if owners.Slot(pod) == "" && !ended(pod) {
		if at := troubledAt(pod, now); at.After(c.troubled) {
			c.troubled = at
		}
	}
	if pod.Spec.NodeName == "" {
		return
	}
	ready := readySince(pod)
	well := !ready.IsZero() && now.Sub(ready) >= wellness
	alike := owners.Alike(pod)
	for _, row := range r.table {
		if !row.Siblings || row.Trigger == signals.Off {
			continue
		}
		key := kind{alike, row.Name}
		siblings, found := c.byKind[key]
		if !found {
			siblings = policy.Siblings{Failing: map[string]bool{}, Well: map[string]bool{}}
			c.byKind[key] = siblings
		}
		switch {
		case len(signals.Table{row}.Matches(pod, now)) > 0:
			siblings.Failing[pod.Spec.NodeName] = true
		case well:
			siblings.Well[pod.Spec.NodeName] = true
		}
	}
}

// troubledAt returns when the pod last failed, according to its status, or now if it has a node and is not ready.
func troubledAt(pod *corev1.Pod, now time.Time) (last time.Time) {
	if pod.Spec.NodeName != "" && readySince(pod).IsZero() {
		return now
	}
	for _, c := range pod.Status.ContainerStatuses {
		if t := c.LastTerminationState.Terminated; t != nil && t.FinishedAt.After(last) {
			last = t.FinishedAt.Time
		}
	}
	return last
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

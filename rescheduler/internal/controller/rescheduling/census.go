package rescheduling

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/owners"
	"github.com/holdfast-project/holdfast/rescheduler/internal/policy"
	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
	"github.com/holdfast-project/holdfast/shared/history"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

const (
	// censusFor is how long a census is used, so that decisions about N pods of one workload read N pods and not N². This is acceptable
	// because the siblings' state changes over minutes.
	censusFor = time.Second
	// wellness is how long a pod must be ready before it is considered evidence for its template.
	wellness = 2 * time.Minute
)

// census summarizes the pods of a workload. It is immutable.
type census struct {
	living   sets.Set[string] // templates of pods that have not ended
	byKind   map[kind]policy.Siblings
	troubled time.Time // when a pod without an identity last failed or was not ready
}

// kind groups pods of one template that match the same row.
type kind struct{ alike, row string }

func (c *census) siblings(pod *corev1.Pod, row string) policy.Siblings {
	return c.byKind[kind{owners.Alike(pod), row}]
}

// census returns the census of the workload's pods. It is at most censusFor old.
func (r *Reconciler) census(ctx context.Context, s *scope) (*census, error) {
	if known, found := r.censuses.Get(s.subject.UID); found {
		return known.(*census), nil
	}
	c := &census{living: sets.New[string](), byKind: map[kind]policy.Siblings{}}
	err := r.kin(ctx, s.subject.UID, s.pod.Namespace, func(pod *corev1.Pod) {
		if !ended(pod) {
			c.living.Insert(owners.Template(pod))
		}
		r.count(c, pod, s.now)
	})
	if err != nil {
		return nil, err
	}
	r.censuses.Add(s.subject.UID, c, censusFor)
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

// troubledAt returns when the pod last failed according to its status, or now if it has a node and is not ready.
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

// ownership maps owners to the controllers of their pods: a JobSet to its Jobs, a Deployment to its ReplicaSets. It includes all workloads
// with observed pods, because a workload may request moves later.
type ownership struct {
	mu       sync.Mutex
	children map[types.UID]map[types.UID]bool
}

func newOwnership() *ownership { return &ownership{children: map[types.UID]map[types.UID]bool{}} }

// add adds a controller to an owner.
func (i *ownership) add(owner, direct types.UID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.children[owner] == nil {
		i.children[owner] = map[types.UID]bool{}
	}
	i.children[owner][direct] = true
}

// of returns the observed controllers of the owner's pods.
func (i *ownership) of(owner types.UID) []types.UID {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Collect(maps.Keys(i.children[owner]))
}

// prune removes controllers without pods. The next pod of a controller adds it again.
func (i *ownership) prune(hasPods func(direct types.UID) bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for owner, children := range i.children {
		maps.DeleteFunc(children, func(direct types.UID, _ bool) bool { return !hasPods(direct) })
		if len(children) == 0 {
			delete(i.children, owner)
		}
	}
}

// Wake enqueues pods of an owner whose annotations have changed: pods that the owner names as the cause of a restart, pods waiting for the
// owner to recover if its recovery has changed, and all pods if the owner now allows a different number of moves. These pods may have no
// events of their own. A standby observes no pods, so it wakes none.
func (r *Reconciler) Wake(before, after metav1.Object) {
	if len(r.ownership.of(after.GetUID())) == 0 {
		return
	}
	changed := func(key string) bool { return before.GetAnnotations()[key] != after.GetAnnotations()[key] }
	for _, name := range signals.Named(after.GetName(), before.GetAnnotations()[history.Annotation], after.GetAnnotations()[history.Annotation]) {
		r.enqueue(client.ObjectKey{Namespace: after.GetNamespace(), Name: name})
	}
	all := changed(memory.RetriesAnnotation)
	if !all && !changed(recovering.Annotation) {
		return
	}
	var pods []client.ObjectKey
	err := r.kin(context.Background(), after.GetUID(), after.GetNamespace(), func(pod *corev1.Pod) {
		if all || r.observed.awaitsRecovery(pod.UID) {
			pods = append(pods, client.ObjectKeyFromObject(pod))
		}
	})
	if err != nil {
		log.Log.Error(err, "Failed to list the pods of a changed owner", "owner", after.GetName())
	}
	r.enqueue(pods...)
}

package orchestrator

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/nodes"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/replace"
)

// lookAtNodes is how long a pod may take to end before its node is looked at, and how often then.
const lookAtNodes = 5 * time.Second

// checkNodes looks why the pods of a slot that are being deleted do not end.
func (r *Reconciler) checkNodes(ctx context.Context, s *scope, p *place) error {
	for _, pod := range p.pods {
		if pod.DeletionTimestamp.IsZero() || replace.Over(pod) {
			continue
		}
		asked, _ := endOf(pod)
		if wait := asked.Add(lookAtNodes).Sub(s.now); wait > 0 {
			s.lookIn(wait)
			continue
		}
		s.lookIn(lookAtNodes)
		if err := r.checkNode(ctx, s, pod); err != nil || !s.replaces() {
			return err
		}
	}
	return nil
}

// checkNode: with evidence that nothing of the pod runs, the pod is deleted by force, and the slot is lost. Without any, a pod whose
// time is over on a node that is not ready leaves the group, so that the others stop waiting for it in a rendezvous; but its slot
// stays empty, because its worker may still run.
func (r *Reconciler) checkNode(ctx context.Context, s *scope, pod *corev1.Pod) error {
	node, err := r.node(ctx, s, pod.Spec.NodeName)
	if err != nil {
		return err
	}
	if why := nodes.Dead(node, s.inPlace.NodeLostAfter, s.now); why != "" {
		return r.forceAway(ctx, s, pod, why)
	}
	if _, due := endOf(pod); nodes.Unready(node) && s.now.After(due) {
		return r.evict(ctx, s, pod)
	}
	return nil
}

// node reads a node once in a look; nil if there is none.
func (r *Reconciler) node(ctx context.Context, s *scope, name string) (*corev1.Node, error) {
	if node, known := s.nodes[name]; known {
		return node, nil
	}
	node := &corev1.Node{}
	err := r.Live.Get(ctx, types.NamespacedName{Name: name}, node)
	switch {
	case apierrors.IsNotFound(err):
		node = nil
	case err != nil:
		return nil, fmt.Errorf("reading node %s: %w", name, err)
	}
	if s.nodes == nil {
		s.nodes = map[string]*corev1.Node{}
	}
	s.nodes[name] = node
	return node, nil
}

// forceAway takes a pod from the API server that no kubelet will end. The eviction comes first: what comes back with its node is
// fenced.
func (r *Reconciler) forceAway(ctx context.Context, s *scope, pod *corev1.Pod, why string) error {
	live := &corev1.Pod{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(pod), live); err != nil {
		return client.IgnoreNotFound(err)
	}
	if live.UID != pod.UID || live.DeletionTimestamp.IsZero() || replace.Over(live) {
		return nil
	}
	if err := r.evict(ctx, s, pod); err != nil || !s.replaces() {
		return err
	}
	ok, err := r.delete(ctx, live, client.Preconditions{UID: &pod.UID}, client.GracePeriodSeconds(0))
	if ok {
		s.forced = append(s.forced, forcedAway{pod.Name, why})
	}
	return err
}

package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
		if s.checked == nil {
			s.checked = map[types.UID]bool{}
		}
		s.checked[pod.UID] = true
		if !s.stays(pod) {
			continue
		}
		if err := r.checkNode(ctx, s, pod); err != nil || !s.replaces() {
			return err
		}
	}
	return nil
}

// stays tells whether a pod is being deleted for so long that its node is to be looked at, and sees to the next look.
func (s *scope) stays(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp.IsZero() || replace.Over(pod) {
		return false
	}
	asked, _ := endOf(pod)
	if wait := asked.Add(lookAtNodes).Sub(s.now); wait > 0 {
		s.lookIn(wait)
		return false
	}
	s.lookIn(lookAtNodes)
	return true
}

// releaseDead deletes by force the other pods of the JobSet's Jobs of which there is evidence that nothing of them runs, however far the group
// is: a Job that is deleted stays until its pods are gone, and its successor is not made before, so that the group would form for ever.
//
// All pods of such a Job end at the same time, most of them on nodes that live. So nodes are read for a while at a time, in any order; what
// lives has soon no pods left to ask for.
func (r *Reconciler) releaseDead(ctx context.Context, s *scope) error {
	if !s.wantsPods() {
		return nil
	}
	pods, err := r.listPods(ctx, s)
	if err != nil {
		return err
	}
	stay := s.othersThatStay(pods)
	if len(stay) == 0 || !due(&s.state.nodesChecked, lookAtNodes, s.now) {
		return nil
	}
	rand.Shuffle(len(stay), func(i, k int) { stay[i], stay[k] = stay[k], stay[i] })
	var errs []error
	for turn := r.turn(); len(stay) > 0 && !turn.spent() && s.wantsPods(); stay = stay[1:] {
		errs = append(errs, r.releaseFromNode(ctx, s, stay[0]))
	}
	return errors.Join(errs...)
}

// othersThatStay are the pods that do not end and that no slot was looked at for. Annotations can name any JobSet; a Job is of the one that
// owns it.
func (s *scope) othersThatStay(pods []corev1.Pod) []*corev1.Pod {
	ours := map[types.UID]bool{}
	for i := range s.jobs {
		ours[s.jobs[i].UID] = true
	}
	var stay []*corev1.Pod
	for i := range pods {
		if pod := &pods[i]; ours[ownerOf(pod)] && !s.checked[pod.UID] && s.stays(pod) {
			stay = append(stay, pod)
		}
	}
	return stay
}

// wantsPods tells whether the JobSet has a group and is to run.
func (s *scope) wantsPods() bool {
	return s.wanted != nil && !s.wanted.Suspended && s.group != nil
}

// releaseFromNode deletes a pod by force with evidence that nothing of it runs, and leaves it alone without.
func (r *Reconciler) releaseFromNode(ctx context.Context, s *scope, pod *corev1.Pod) error {
	node, err := r.node(ctx, s, pod.Spec.NodeName)
	if err != nil {
		return err
	}
	if why := nodes.Dead(node, s.inPlace.NodeLostAfter, s.now); why != "" {
		return r.forceAway(ctx, s, pod, why)
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
	if err := r.evictToDelete(ctx, s, pod); err != nil || !s.wantsPods() {
		return err
	}
	ok, err := r.delete(ctx, live, client.Preconditions{UID: &pod.UID}, client.GracePeriodSeconds(0))
	if ok {
		s.forced = append(s.forced, forcedAway{pod.Name, why})
	}
	return err
}

package rescheduling

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/placement"
	"github.com/holdfast-project/holdfast/rescheduler/internal/policy"
	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
)

// unbound is for pods that have no node yet.
func (r *Reconciler) unbound(ctx context.Context, s *scope) (ctrl.Result, error) {
	if s.pod.Status.Phase != corev1.PodPending && s.pod.Status.Phase != "" {
		return ctrl.Result{}, nil
	}
	since, message, stuck := unschedulable(s.pod)
	if err := r.fill(ctx, s, s.pod); err != nil || !stuck {
		return ctrl.Result{}, err
	}
	return r.relax(ctx, s, since, message)
}

// unschedulable tells whether the scheduler found no node for the pod, since when, and why.
func unschedulable(pod *corev1.Pod) (since time.Time, message string, stuck bool) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return c.LastTransitionTime.Time, c.Message, true
		}
	}
	return time.Time{}, "", false
}

// relax lifts exclusions that leave a pod no node, if lifting them helps: an unwanted node is better than none.
func (r *Reconciler) relax(ctx context.Context, s *scope, since time.Time, message string) (ctrl.Result, error) {
	hosts := memory.Hosts(s.pod.Annotations)
	byAffinity := placement.Avoids(s.pod, hosts)
	if len(hosts) == 0 || !byAffinity && !strings.Contains(message, memory.FilterMessage) {
		return ctrl.Result{}, nil
	}
	if byAffinity && s.bare() && !r.config.BarePods.Recreate { // nobody would make it again
		return ctrl.Result{}, nil
	}
	if left := time.Duration(r.config.RelaxAfter) - s.now.Sub(since); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	helps, err := r.helps(ctx, s.pod, hosts)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !helps {
		return ctrl.Result{RequeueAfter: notYet}, nil
	}
	d := &policy.Decision{
		Reason: reasonLifted, Warning: true,
		Message: fmt.Sprintf("no other node takes the pod: it is no longer kept away from %s", strings.Join(hosts, ", ")),
	}
	if r.config.DryRun {
		d.Message = "dry run: " + d.Message
	} else if err := r.lift(ctx, s, byAffinity); err != nil {
		return again(err)
	}
	r.tell(ctx, s, signals.Match{}, d)
	return ctrl.Result{}, nil
}

// notYet is when to look again whether lifting the exclusions helps: nodes have no event here.
const notYet = 30 * time.Second

func (r *Reconciler) helps(ctx context.Context, pod *corev1.Pod, hosts []string) (bool, error) {
	free := placement.Freed(pod, hosts)
	for _, host := range hosts {
		var node corev1.Node
		if err := r.client.Get(ctx, client.ObjectKey{Name: host}, &node); err != nil {
			if apierrors.IsNotFound(err) {
				continue
			}
			return false, fmt.Errorf("reading node %s: %w", host, err)
		}
		if placement.Fits(free, &node) {
			return true, nil
		}
	}
	return false, nil
}

// lift the exclusions: of the pod, if they are an annotation; affinity cannot be changed, so its controller makes another pod, which
// is admitted without.
func (r *Reconciler) lift(ctx context.Context, s *scope, byAffinity bool) error {
	if !byAffinity {
		r.lifted.Add(s.pod.UID, nil)
		return r.annotate(ctx, s.pod, "")
	}
	defer r.ledger.Lock(s.subject.UID)()
	s.subject = r.ledger.Latest(s.subject)
	s.read()
	s.memory.RelaxedUntil = s.now.Add(time.Duration(r.config.RelaxFor))
	if s.bare() {
		_, err := r.remake(ctx, s)
		return err
	}
	if err := r.write(ctx, s, s.memory.Annotations(s.now)); err != nil {
		return err
	}
	if err := r.publish(ctx, s); err != nil {
		return err
	}
	uid, version := s.pod.UID, s.pod.ResourceVersion
	err := r.client.Delete(ctx, s.pod.DeepCopy(), &client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}})
	if apierrors.IsConflict(err) {
		return nil // it was bound after all
	}
	return client.IgnoreNotFound(err)
}

package rescheduling

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/owners"
	"github.com/holdfast-project/holdfast/rescheduler/internal/policy"
	"github.com/holdfast-project/holdfast/shared/bootstrap/requeue"
	"github.com/holdfast-project/holdfast/shared/notes"
)

// DecisionAnnotation is the annotation on a workload that holds the last decision about one of its pods.
const DecisionAnnotation = "holdfast.dev/rescheduling-decision"

// remember writes the failure history and the reason for the decision. It reports whether anything was written.
func (r *Reconciler) remember(ctx context.Context, s *scope, d *policy.Decision) (wrote bool, err error) {
	if !d.Learned || r.Config.DryRun {
		return false, nil
	}
	want := d.Memory.Forget(s.now).Annotations(s.now)
	if s.bare() {
		want = d.Memory.PodAnnotations(s.now)
	}
	if same(s.subject.Annotations, want) {
		return false, nil
	}
	if d.Reason != policy.Moved { // moves are announced once they are made
		want[DecisionAnnotation] = lastDecision(s, d)
	}
	return true, r.write(ctx, s, want)
}

func same(have, want map[string]string) bool {
	for key, value := range want {
		if have[key] != value {
			return false
		}
	}
	return true
}

// lastDecision returns the value of DecisionAnnotation.
func lastDecision(s *scope, d *policy.Decision) string {
	content, _ := json.Marshal(map[string]string{ // strings always marshal
		"time": s.now.UTC().Format(time.RFC3339), "pod": s.pod.Name, "reason": d.Reason, "message": notes.Truncate(d.Message, notes.MaxLength),
	})
	return string(content)
}

// writes is the maximum number of attempts to write an owner that keeps changing.
const writes = 8

// write writes annotations of the subject, unless its failure history has changed since it was read, because a decision must not overwrite
// a newer history. If only the owner's status changed, it retries immediately: a StatefulSet deletes a failed pod within milliseconds.
func (r *Reconciler) write(ctx context.Context, s *scope, annotations map[string]string) (err error) {
	for range writes {
		err = r.patch(ctx, s, annotations, client.MergeFromWithOptions(s.subject, client.MergeFromWithOptimisticLock{}))
		if !apierrors.IsConflict(err) {
			return err
		}
		fresh := &metav1.PartialObjectMetadata{TypeMeta: s.subject.TypeMeta}
		if r.Live.Get(ctx, client.ObjectKeyFromObject(s.subject), fresh) != nil || fresh.UID != s.subject.UID || !sameMemory(fresh, s.subject) {
			return err
		}
		s.subject = fresh
	}
	return err
}

func sameMemory(a, b *metav1.PartialObjectMetadata) bool {
	keys := []string{memory.Annotation, memory.WorkloadAnnotation, memory.PodAnnotation, memory.RetriesAnnotation}
	return !slices.ContainsFunc(keys, func(key string) bool { return a.Annotations[key] != b.Annotations[key] })
}

func (r *Reconciler) patch(ctx context.Context, s *scope, annotations map[string]string, patch client.Patch) error {
	before := s.subject
	after := before.DeepCopy()
	for key, value := range annotations {
		metav1.SetMetaDataAnnotation(&after.ObjectMeta, key, value)
	}
	if err := r.Client.Patch(ctx, after, patch, fieldOwner); err != nil {
		return fmt.Errorf("writing the annotations of %s %s: %w", before.Kind, before.Name, err)
	}
	r.Ledger.Wrote(after)
	s.subject = after
	s.read()
	return nil
}

// ofTemplate starts a new history if the current one does not cover the pod's template. The templates of other living pods share the new
// history: during a partitioned or paused rollout two templates are in use, and neither may erase the history of the other. A workload with
// several parts has several templates, none of which is the workload's template. ofTemplate returns false for a pod that has ended if the
// history does not cover its template and no living pod uses it. Failures with an old template say nothing about the current one.
func (r *Reconciler) ofTemplate(ctx context.Context, s *scope) (known bool, err error) {
	template := owners.Template(s.pod)
	if !s.chain.OneTemplate(s.pod) || s.memory.Knows(template) && s.memory.Template != "" {
		return true, nil
	}
	c, err := r.census(ctx, s)
	if err != nil {
		return false, err
	}
	if ended(s.pod) && !s.memory.Knows(template) && !c.living.Has(template) {
		return false, nil
	}
	s.memory = s.memory.For(template, c.living.UnsortedList()...)
	return true, nil
}

// restore handles healthy pods. If a slot has been healthy for long enough, its moves no longer count. Expired entries are dropped.
func (r *Reconciler) restore(ctx context.Context, s *scope) (ctrl.Result, error) {
	r.metrics.bound(s)
	if s.bare() {
		return ctrl.Result{}, r.retire(ctx, s)
	}
	if s.memory.Empty() || s.pod.Status.Phase != corev1.PodRunning || r.Config.DryRun {
		return ctrl.Result{}, nil
	}
	unlock, locked := r.lock(s)
	if !locked {
		return ctrl.Result{RequeueAfter: contended}, nil
	}
	defer unlock()
	m, after, err := r.returned(ctx, s)
	if err != nil {
		return ctrl.Result{}, err
	}
	m = m.Forget(s.now)
	if want := m.Annotations(s.now); !same(s.subject.Annotations, want) {
		if err := r.write(ctx, s, want); err != nil {
			return requeue.OnError(err)
		}
	}
	return ctrl.Result{RequeueAfter: requeue.Soonest(after, s.nextEnd())}, nil
}

// returned returns the history after a healthy pod was reconciled, and the delay until the pod is reconciled again. Only the moves of the
// pod's own slot stop counting. For pods without an identity, it is unknown which pod replaced which, so all of them must be healthy.
func (r *Reconciler) returned(ctx context.Context, s *scope) (m memory.Memory, after time.Duration, err error) {
	slot, from := owners.Slot(s.pod), readySince(s.pod)
	last := s.memory.LastMove(slot)
	if last.IsZero() || from.IsZero() {
		return s.memory, 0, nil
	}
	period := r.Config.Stabilization.Duration
	if last.After(from) {
		from = last
	}
	if slot == "" && s.now.Sub(from) >= period {
		c, err := r.census(ctx, s)
		if err != nil {
			return s.memory, 0, err
		}
		if c.troubled.After(from) {
			from = c.troubled
		}
	}
	if left := period - s.now.Sub(from); left > 0 {
		return s.memory, left, nil
	}
	return s.memory.Return(slot), 0, nil
}

// nextEnd returns the time until the next exclusion expires, or 0 if there is none.
func (s *scope) nextEnd() time.Duration {
	var next time.Duration
	for _, e := range s.memory.Entries {
		if e.Live(s.now) {
			next = requeue.Soonest(next, e.Expires.Sub(s.now))
		}
	}
	return min(next, 24*time.Hour)
}

package orchestrator

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/owners"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/provenance"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
)

// apply does one step and notes its effect in the scope.
func (r *Reconciler) apply(ctx context.Context, s *scope, step leader.Step) error {
	switch step.Kind {
	case leader.Drop:
		return r.drop(ctx, s)
	case leader.WriteGroup:
		return r.write(ctx, s, step.Write)
	case leader.RestoreEpoch:
		return r.annotate(ctx, s, map[string]string{epoch.Annotation: step.Epoch.Format()})
	case leader.Charge:
		return r.charge(ctx, s, step)
	case leader.WriteMark:
		return r.annotate(ctx, s, s.mark(step.Mark))
	case leader.FailOver:
		return r.failOver(ctx, s, step)
	}
	return fmt.Errorf("unknown step %q", step.Kind)
}

// write makes a write of the leader's rules. If the group has moved on meanwhile, the next step is decided on what it is then.
func (r *Reconciler) write(ctx context.Context, s *scope, w group.Write) error {
	if s.foreign != nil {
		r.reportForeign(s)
		if err := group.Drop(ctx, r.Store, string(s.js.UID), w.Config.Token); err != nil {
			return r.sawGroup(s, nil, err)
		}
	}
	written, err := group.Apply(ctx, r.Store, string(s.js.UID), w)
	if err != nil {
		return r.sawGroup(s, nil, err)
	}
	if written && w.Reason == group.GivesUp {
		timeouts.Inc()
	}
	return r.readGroup(ctx, s)
}

func (r *Reconciler) drop(ctx context.Context, s *scope) error {
	token, err := r.Tokens.Token(ctx)
	if err != nil {
		return err
	}
	if err := r.settleAccounts(ctx, s); err != nil {
		return err
	}
	return r.sawGroup(s, nil, group.Drop(ctx, r.Store, string(s.js.UID), token))
}

// charge raises inplace-restarts. The compare-and-set on the JobSet makes it count once, and never after the JobSet was
// suspended, finished or moved to another epoch: such a change is a conflict.
func (r *Reconciler) charge(ctx context.Context, s *scope, step leader.Step) error {
	before := s.inPlace.Restarts
	values := s.mark(step.Mark)
	values[v1alpha2.InPlaceRestartsKey] = strconv.Itoa(int(step.Charged))
	err := r.annotate(ctx, s, values)
	if err == nil && step.Charged > before {
		r.reportCharge(s)
	}
	return err
}

// failOver writes the next epoch and its charge in one compare-and-set. From then on the Jobs of the epochs before are
// stale, whoever deletes them.
func (r *Reconciler) failOver(ctx context.Context, s *scope, step leader.Step) error {
	old := *s.group
	values := s.markRecreation(old)
	values[epoch.Annotation] = step.Epoch.Format()
	values[v1alpha2.InPlaceRestartsKey] = strconv.Itoa(int(step.Charged))
	err := r.annotate(ctx, s, values)
	if err == nil {
		r.reportFailOver(s, old)
	}
	return err
}

// annotate writes annotations in one compare-and-set; an empty value takes its annotation away.
func (r *Reconciler) annotate(ctx context.Context, s *scope, values map[string]string) error {
	next, err := annotated(ctx, r.Client, s.js, values)
	if err != nil {
		return err
	}
	s.js = next.(*v1alpha2.JobSet)
	return s.readJobSet()
}

// annotated is annotate for any owner, and returns it as it is then.
func annotated(ctx context.Context, c client.Client, owner client.Object, values map[string]string) (client.Object, error) {
	next := owners.Copy(owner)
	annotations := maps.Clone(next.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	for key, value := range values {
		if value == "" {
			delete(annotations, key)
		} else {
			annotations[key] = value
		}
	}
	provenance.Stamp(owner, annotations)
	next.SetAnnotations(annotations)
	patch := client.MergeFromWithOptions(owner, client.MergeFromWithOptimisticLock{})
	if err := c.Patch(ctx, next, patch, client.FieldOwner(FieldManager)); err != nil {
		return owner, fmt.Errorf("annotating the %s: %w", owners.KindOf(owner).Kind, err)
	}
	return next, nil
}

package orchestrator

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/owners"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/provenance"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
)

// apply does one step and notes its effect in the scope.
func (r *Reconciler) apply(ctx context.Context, s *scope, step leader.Step) error {
	token, err := r.Tokens.Token(ctx)
	if err != nil {
		return err
	}
	switch step.Kind {
	case leader.Drop:
		return r.drop(ctx, s, token)
	case leader.OpenGroup:
		step.Open.Token = token
		return r.open(ctx, s, step.Open)
	case leader.GiveUp:
		return r.giveUp(ctx, s, token)
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

func (r *Reconciler) open(ctx context.Context, s *scope, o coordination.Open) error {
	o.Incarnation = incarnation()
	if s.foreign != nil {
		r.reportForeign(s)
	}
	sum, err := r.Store.Open(ctx, string(s.js.UID), o)
	s.opened = true
	return r.sawGroup(s, sum, err)
}

func (r *Reconciler) drop(ctx context.Context, s *scope, token coordination.Token) error {
	if err := r.settleAccounts(ctx, s); err != nil {
		return err
	}
	err := r.Store.Drop(ctx, string(s.js.UID), token)
	if err == nil {
		err = coordination.ErrNoGroup // the level after a drop
	}
	return r.sawGroup(s, coordination.Summary{}, err)
}

func (r *Reconciler) giveUp(ctx context.Context, s *scope, token coordination.Token) error {
	g := s.group
	sum, err := r.Store.Recreate(ctx, string(s.js.UID), token, g.Epoch, g.Round, coordination.KindTimeout)
	if err == nil && sum.Phase == coordination.Recreating && sum.Round == g.Round {
		timeouts.Inc()
	}
	return r.sawGroup(s, sum, err)
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

// incarnation names one life of a group's data in the store.
func incarnation() string {
	b := make([]byte, 8)
	if _, err := rand.Read(b); err != nil {
		panic(err) // the kernel's source of randomness never fails
	}
	return hex.EncodeToString(b)
}

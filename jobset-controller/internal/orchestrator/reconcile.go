package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/credentials"
	"github.com/holdfast-project/holdfast/shared/bootstrap/requeue"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
	"github.com/holdfast-project/holdfast/shared/series"
)

// run is one reconcile.
type run struct {
	*Reconciler
	owner client.Object
	jobs  []batchv1.Job
	state *groupState
	o     leader.Observation
	began map[string]time.Time // when a rule first planned its calls
	live  map[string]*batchv1.Job
	errs  []error // errors that do not end the reconcile
}

// Credentials manages the store user of a group, given its owner; see credentials.Keeper.
type Credentials interface {
	Keep(ctx context.Context, owner client.Object, save credentials.Save) error
}

const (
	resyncEvery = 20 * time.Second
	retryStore  = time.Second
	// maxPlans limits the number of plans in a reconcile that never settles.
	maxPlans = 1000
	// turnFor is how long one rule may keep starting calls within a reconcile. An API server that is busy with the
	// restart of a whole group takes half a second per call, and other rules and groups must wait.
	turnFor = time.Second
)

// reconcile observes, plans and acts until the group is in the desired state. It creates the credentials first, because
// pods are waiting for their Secret.
func (r *Reconciler) reconcile(ctx context.Context, owner client.Object, key ownerKey) (time.Duration, error) {
	owner, retry, err := r.keepUser(ctx, owner)
	if err != nil {
		return 0, err
	}
	x := &run{Reconciler: r, owner: owner, began: map[string]time.Time{}, live: map[string]*batchv1.Job{}}
	x.state = r.Groups.of(key, owner.GetUID())
	if led, err := x.observe(ctx); err != nil || !led {
		return retry, err
	}
	plan, err := x.follow(ctx)
	x.report(leader.Report(&x.o, &x.state.memory, r.Clock.Now()))
	if err == nil {
		retry = requeue.Soonest(x.settle(key, plan), retry)
	}
	if err = errors.Join(append(x.errs, err)...); err != nil { // the next reconcile repairs these losses; repeating a release has no effect
		r.Groups.putBack(x.state, x.o.Lost)
		return 0, err
	}
	return retry, nil
}

// retryRejected is the longest interval between attempts of a call that the API server rejects, such as the creation of
// a group's Secret. A restart has a deadline, and timers do not run while the work queue backs off.
const retryRejected = 5 * time.Second

// keepUser creates or renews the credentials of an owner that requests in-place restarts. It returns the updated owner,
// and when to reconcile again, or 0 if there was no error.
//
// If a quota or a webhook rejects the Secret, the group is still managed: new pods wait for the Secret, and running
// workers are restarted and replaced. keepUser logs such an error instead of returning it. It returns only errors that
// end the reconcile: the store is unreachable, or the owner has changed.
func (r *Reconciler) keepUser(ctx context.Context, owner client.Object) (client.Object, time.Duration, error) {
	if r.Users == nil || !r.Kind.Asks(owner) {
		return owner, 0, nil
	}
	err := r.Users.Keep(ctx, owner, func(record credentials.Record) (err error) {
		owner, err = annotated(ctx, r.Client, owner, map[string]string{credentials.Annotation: record.Format()})
		return err
	})
	switch {
	case errors.Is(err, credentials.ErrStore):
		r.Metrics.Inc(series.StoreErrors)
		return owner, 0, err
	case err == nil, apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return owner, 0, err
	}
	log.FromContext(ctx).Error(err, "creating store credentials failed, continuing without rotation")
	return owner, retryRejected, nil
}

// follow makes plans and executes them until a plan contains nothing to do.
func (x *run) follow(ctx context.Context) (plan leader.Plan, err error) {
	for range maxPlans {
		plan = x.plan()
		switch {
		case plan.Err != nil:
			return plan, plan.Err
		case len(plan.Actions) > 0:
			err = x.act(ctx, plan.Actions)
		case plan.Acts():
			err = x.read(ctx, plan.Need)
		}
		if err != nil {
			return plan, err
		}
		x.report(plan.Events, plan.Counts)
		if !plan.Acts() {
			return plan, nil
		}
	}
	return plan, fmt.Errorf("the group of %s/%s did not settle: rule %q", x.owner.GetNamespace(), x.owner.GetName(), plan.Rule)
}

func (x *run) plan() leader.Plan {
	now := x.Clock.Now()
	x.o.Incarnation = group.Incarnation() // each write that makes all workers join again needs a new incarnation
	x.o.Spent = map[string]bool{}
	for rule, began := range x.began {
		x.o.Spent[rule] = now.Sub(began) >= turnFor
	}
	plan := leader.Decide(&x.o, &x.state.memory, now)
	if _, known := x.began[plan.Rule]; !known {
		x.began[plan.Rule] = now
	}
	x.state.restarting.Store(x.state.memory.Restarting())
	return plan
}

// settle updates the state used by the watch and the metrics, and returns when to reconcile again.
func (x *run) settle(key ownerKey, plan leader.Plan) time.Duration {
	x.state.forms.Store(plan.Waits != nil)
	x.Groups.observed(x.state, &plan, x.Kind.Jobs)
	if plan.Over && plan.Group == nil {
		x.Groups.forget(key)
	}
	if plan.Over {
		return 0
	}
	return requeue.Soonest(jitter(resyncEvery), plan.Resync)
}

func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }

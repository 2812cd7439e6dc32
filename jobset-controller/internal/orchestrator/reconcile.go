package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
)

const (
	// maxPlans limits the plans of a reconcile that never settles.
	maxPlans = 1000
	// turnFor is how long one rule may start calls in one reconcile. An API server that is busy with the restart of a whole group
	// takes half a second for each call, and the other rules and other groups wait until it is done.
	turnFor = time.Second
)

// reconcile observes, plans and acts until the group is in the desired state.
func (r *Reconciler) reconcile(ctx context.Context, owner client.Object, key ownerKey) (time.Duration, error) {
	x := &run{Reconciler: r, owner: owner, began: map[string]time.Time{}, live: map[string]*batchv1.Job{}}
	x.state = r.Groups.of(key, owner.GetUID())
	if led, err := x.observe(ctx); err != nil || !led {
		return 0, err
	}
	plan, err := x.follow(ctx)
	x.report(leader.Report(&x.o, &x.state.memory, r.Clock.Now()))
	if err = errors.Join(append(x.errs, err)...); err != nil { // a repair starts from the losses; repeating a release changes nothing
		r.Groups.putBack(x.state, x.o.Lost)
		return 0, err
	}
	return x.settle(key, plan), nil
}

// follow makes plans and executes them, until a plan has nothing to do.
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
	return plan, fmt.Errorf("the group of %s/%s does not settle: rule %q", x.owner.GetNamespace(), x.owner.GetName(), plan.Rule)
}

func (x *run) plan() leader.Plan {
	now := x.Clock.Now()
	x.o.Incarnation = group.Incarnation() // each write that makes all workers join again needs its own incarnation
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

// settle updates what the watch and the metrics use, and returns when to reconcile again.
func (x *run) settle(key ownerKey, plan leader.Plan) time.Duration {
	x.state.forms.Store(plan.Forms)
	x.Groups.observed(x.state, &plan, x.Kind.Jobs)
	if plan.Over && plan.Group == nil {
		x.Groups.forget(key)
	}
	if plan.Over {
		return 0
	}
	return sooner(jitter(resyncEvery), plan.Resync)
}

package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/credentials"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

const (
	resyncEvery = 20 * time.Second
	retryStore  = time.Second
)

// Reconciler leads the groups of one kind of owners.
type Reconciler struct {
	Kind     Kind
	Client   client.Client
	Live     client.Reader // reads from the API server instead of the cache
	Store    rounds.Leader
	Tokens   Tokens
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Users    Credentials // nil if agents have no users of their own
	Groups   *Groups
	Metrics  *Metrics

	outage atomic.Bool // one outage of the store is logged once, however many groups notice it
}

// Credentials manages the store user of a group, given its owner; see credentials.Keeper.
type Credentials interface {
	Keep(ctx context.Context, owner client.Object, save credentials.Save) error
}

// run is one reconcile.
type run struct {
	*Reconciler
	owner    client.Object
	jobs     []batchv1.Job
	state    *groupState
	o        leader.Observation
	began    map[string]time.Time // when a rule first planned its calls
	live     map[string]*batchv1.Job
	errs     []error // those that do not end the reconcile
	conflict string  // of a group that pods declare
}

// view converts the owner for the plan. known reports whether the store may hold anything about it.
func (x *run) view() (known bool, err error) {
	var current []*batchv1.Job
	if js := jobSetOf(x.owner); js != nil {
		current = policy.CurrentJobs(js, x.jobs, epochOf(js))
	}
	if x.o.Owner, known, err = x.Kind.View(x.owner, current); err != nil {
		return false, err
	}
	if x.o.Owner.Served != nil {
		x.o.Owner.Served.Missed, x.o.Owner.Served.Conflict = x.state.missed, x.conflict
	}
	isCurrent := make(map[*batchv1.Job]bool, len(current))
	for _, job := range current {
		isCurrent[job] = true
	}
	x.o.Jobs = make([]workload.Job, len(x.jobs))
	for i := range x.jobs {
		x.o.Jobs[i] = jobOf(x.owner.GetName(), &x.jobs[i], isCurrent[&x.jobs[i]])
	}
	x.datePods()
	return known, nil
}

// datePods sets the generation of the pods of a Job without a JobSet. The pods do not carry it, because their template is the same
// in each generation.
func (x *run) datePods() {
	if !x.Kind.Alone {
		return
	}
	for _, pod := range x.o.Pods {
		pod.Generation = x.o.Owner.Epoch.OfPod(pod.Created)
	}
	for _, lost := range x.o.Lost {
		lost.Pod.Generation = x.o.Owner.Epoch.OfPod(lost.Pod.Created)
	}
}

// readGroup reads the state of the group in the store.
func (x *run) readGroup(ctx context.Context) error {
	stored, err := x.Store.Read(ctx, string(x.owner.GetUID()))
	x.o.Stored, x.o.Foreign = stored, nil
	if errors.Is(err, coordination.ErrForeignValue) {
		x.o.Stored, x.o.Foreign, err = nil, err, nil
	}
	return x.asked(err)
}

// asked classifies an error of the store. It returns nil if the group does not exist or is unreadable, the error itself if this
// leader was replaced, and a StoreError if the store did not answer.
func (x *run) asked(err error) error {
	switch {
	case err == nil, errors.Is(err, coordination.ErrNoGroup), errors.Is(err, coordination.ErrForeignValue):
		x.outage.Store(false)
		return nil
	case errors.Is(err, coordination.ErrStaleLeader), errors.Is(err, coordination.ErrArgument):
		return err
	}
	return x.storeFailed(err)
}

// callsAtATime limits how many API calls a reconcile has in flight.
const callsAtATime = 16

// inParallel calls f for each index below n, callsAtATime at a time, and returns all errors.
func inParallel(n int, f func(i int) error) error {
	errs := make([]error, n)
	var calls errgroup.Group
	calls.SetLimit(callsAtATime)
	for i := range n {
		calls.Go(func() error { errs[i] = f(i); return nil })
	}
	_ = calls.Wait()
	return errors.Join(errs...)
}

// storeFailed returns the error of a store that did not answer, and counts it.
func (r *Reconciler) storeFailed(err error) error {
	r.Metrics.storeErrors.Inc()
	return fmt.Errorf("asking the store: %w", &credentials.StoreError{Err: err})
}

// sooner returns the sooner of two times until the next reconcile; 0 means that none is needed.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }

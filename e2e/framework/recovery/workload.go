package recovery

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// Workload is a JobSet whose workers are killed.
type Workload struct {
	Mode    Mode
	JobSet  *v1alpha2.JobSet
	Workers int

	env      *framework.Environment
	before   map[string]framework.Worker
	failures int
	moved    string // worker whose pod was lost in the last failure, or ""
}

// Failure describes the failure of a worker and the recovery from it.
type Failure struct {
	Worker string // ID of the worker
	Killed time.Time
	// Ended is when the API server first showed that the deleted pod had terminated; zero if no pod was deleted.
	Ended time.Time
	// Again is when the last worker's program had started again.
	Again time.Time
	// Account is the store's record of the restart; nil for a recreation.
	Account *coordination.Record
}

// Outage returns how long at least one worker was not running.
func (f Failure) Outage() time.Duration { return f.Again.Sub(f.Killed) }

// Start creates the example for a mode with the given number of workers, and returns once all of them are running in
// sync.
func Start(ctx context.Context, env *framework.Environment, namespace string, a Mode, workers int) (*Workload, error) {
	js, err := env.Load(namespace, env.File("examples", a.Example))
	if err != nil {
		return nil, err
	}
	if err := env.Remove(ctx, namespace, js.Name); err != nil {
		return nil, err
	}
	spec := &js.Spec.ReplicatedJobs[0].Template.Spec
	spec.Parallelism, spec.Completions = ptr.To(int32(workers)), ptr.To(int32(workers))
	if a.Change != nil {
		a.Change(js)
	}
	if a.Spare {
		js.Annotations[v1alpha2.SparesKey] = "1"
	}
	if err := env.Client.Create(ctx, js); err != nil {
		return nil, fmt.Errorf("creating the JobSet: %w", err)
	}
	t := &Workload{Mode: a, JobSet: js, Workers: workers, env: env}
	if err := t.awaitSync(ctx); err != nil || !a.Spare {
		return t, err
	}
	return t, t.awaitSpare(ctx)
}

// SpareNode is the node for the spare.
const SpareNode = 2

// awaitSpare makes the node for the spare schedulable until the spare is running.
func (t *Workload) awaitSpare(ctx context.Context) error {
	if err := t.env.Cordon(ctx, SpareNode, false); err != nil {
		return err
	}
	err := t.env.AwaitSpares(ctx, t.JobSet, t.JobSet.Name+"-"+t.JobSet.Spec.ReplicatedJobs[0].Name+"-spares-0")
	return errors.Join(err, t.env.Cordon(context.WithoutCancel(ctx), SpareNode, true))
}

// End deletes the JobSet and waits until its pods are gone.
func (t *Workload) End(ctx context.Context) error {
	return t.env.Remove(context.WithoutCancel(ctx), t.JobSet.Namespace, t.JobSet.Name)
}

// awaitSync returns once the API server also shows all workers as running.
func (t *Workload) awaitSync(ctx context.Context) (err error) {
	if t.Mode.grouped() {
		if _, err := t.env.AwaitPhase(ctx, t.JobSet, coordination.Running, 1, int64(t.failures)); err != nil {
			return err
		}
	}
	t.before, err = t.env.AwaitWorkers(ctx, t.JobSet.Namespace, t.JobSet.Name, t.Workers)
	return err
}

// Fail kills one worker's program with SIGKILL and returns once all workers are running again. It returns an error if
// the recovery differs from the workload's mode.
func (t *Workload) Fail(ctx context.Context) (Failure, error) {
	return t.strike(ctx, "", func(w framework.Worker) (time.Time, error) { return t.env.Signal(ctx, w, unix.SIGKILL) })
}

// LosePod deletes one worker's pod and returns once all workers are running again. It returns an error if pods were
// replaced that the mode does not replace.
func (t *Workload) LosePod(ctx context.Context) (Failure, error) {
	return t.strike(ctx, lost, func(w framework.Worker) (time.Time, error) { return t.env.DeletePod(ctx, w) })
}

// lost identifies a failure after which the worker gets a new pod in every mode.
const lost = "lost"

func (t *Workload) strike(ctx context.Context, pod string, strike func(framework.Worker) (time.Time, error)) (f Failure, err error) {
	t.failures++
	ids := framework.IDs(t.before)
	f = Failure{Worker: ids[(t.failures*3)%len(ids)]}
	t.moved = ""
	if pod == lost {
		t.moved = f.Worker
	}
	err = framework.Until(ctx, "the worker can be made to fail", func(ctx context.Context) (err error) { // a group is in sync before its workers are running
		f.Killed, err = strike(t.before[f.Worker])
		return err
	})
	if err != nil {
		return f, err
	}
	if pod == lost {
		ended, was := make(chan time.Time, 1), t.before[f.Worker]
		go func() {
			at, _ := t.env.AwaitPodEnd(ctx, was) // on error, the phase is not shown
			ended <- at
		}()
		defer func() { f.Ended = <-ended }()
	}
	if f.Again, err = t.env.StartsAfter(ctx, t.JobSet.Namespace, t.JobSet.Name, t.Workers, f.Killed); err != nil {
		return f, err
	}
	before := t.before
	if err := t.awaitAnswer(ctx, before); err != nil {
		return f, err
	}
	if t.Mode.grouped() {
		f.Account, err = t.account(ctx)
	}
	return f, err
}

// awaitAnswer waits until the API server shows the recovery that is expected in the workload's mode.
func (t *Workload) awaitAnswer(ctx context.Context, before map[string]framework.Worker) error {
	return framework.Until(ctx, "the workload has recovered by "+t.Mode.Name, func(ctx context.Context) error {
		if err := t.awaitSync(ctx); err != nil {
			return err
		}
		var errs []error
		for id, was := range before {
			errs = append(errs, t.compare(id, was, t.before[id]))
		}
		return errors.Join(append(errs, t.charged(ctx))...)
	})
}

func (t *Workload) compare(id string, was, is framework.Worker) error {
	switch {
	case id == t.moved && was.PodUID == is.PodUID:
		return fmt.Errorf("worker %s is still in pod %s", id, is.PodUID)
	case id == t.moved:
		return nil
	case t.Mode.InPlace != (was.PodUID == is.PodUID):
		return fmt.Errorf("worker %s: pod %s became %s", id, was.PodUID, is.PodUID)
	case t.Mode.SameContainers != (was.ContainerID == is.ContainerID):
		return fmt.Errorf("worker %s: container %s became %s", id, was.ContainerID, is.ContainerID)
	case t.Mode.InPlace && !t.Mode.SameContainers && is.Restarts != was.Restarts+1:
		return fmt.Errorf("worker %s: restart count %d became %d", id, was.Restarts, is.Restarts)
	}
	return nil
}

// charged checks that each failure was counted against the budget as one restart.
func (t *Workload) charged(ctx context.Context) error {
	if !t.Mode.grouped() {
		return nil
	}
	js, err := t.env.JobSet(ctx, t.JobSet.Namespace, t.JobSet.Name)
	if err != nil {
		return err
	}
	if got := js.Annotations[v1alpha2.InPlaceRestartsKey]; got != strconv.Itoa(t.failures) {
		return fmt.Errorf("%s is %q after %d failures", v1alpha2.InPlaceRestartsKey, got, t.failures)
	}
	return nil
}

var errNoAccount = errors.New("the store has no record of the restart")

func (t *Workload) account(ctx context.Context) (*coordination.Record, error) {
	history, err := t.env.Records(ctx, string(t.JobSet.UID))
	if err != nil {
		return nil, err
	}
	if len(history) == 0 {
		return nil, errNoAccount
	}
	return &history[len(history)-1], nil
}

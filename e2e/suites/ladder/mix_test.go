//go:build e2e && e2e_all

package ladder

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// mishap is one kind of fault in the workload or in a program that manages it. strike returns an error if there is
// nothing to strike.
type mishap struct {
	name   string
	weight int
	strike func(*run, *rand.Rand) error
}

var mishaps = []mishap{
	{"a process exits", 6, ofWorker(func(r *run, w framework.Worker) error { return second(r.Signal(r.ctx, w, unix.SIGUSR1)) })},
	{"a process is killed", 6, ofWorker(func(r *run, w framework.Worker) error { return second(r.Signal(r.ctx, w, unix.SIGKILL)) })},
	{"a container dies with its supervisor", 3, ofWorker(func(r *run, w framework.Worker) error {
		return second(r.SignalContainer(r.ctx, w.PodUID, "worker", unix.SIGKILL))
	})},
	{"a pod is deleted", 3, ofWorker(func(r *run, w framework.Worker) error { return second(r.DeletePod(r.ctx, w)) })},
	{"the store restarts", 2, func(r *run, _ *rand.Rand) error {
		if err := r.Cluster.Redis().Kill(r.ctx); err != nil {
			return err
		}
		return r.Cluster.Redis().Start(context.WithoutCancel(r.ctx), false)
	}},
	{"the orchestrator restarts", 2, again(framework.Orchestrator, func(r *run, ctx context.Context) error { return r.StartOrchestrator(ctx) })},
	{"the JobSet manager restarts", 2, again(framework.Manager, func(r *run, ctx context.Context) error { return r.StartManager(ctx) })},
	{"the AppWrapper manager restarts", 2, again(framework.AppWrappers, func(r *run, ctx context.Context) error { return r.StartAppWrappers(ctx) })},
	{"the rescheduler restarts", 1, again(framework.Rescheduler, func(_ *run, ctx context.Context) error { return startRescheduler(ctx) })},
	{"the elastic operator restarts", 1, again(framework.ElasticJobs, func(r *run, ctx context.Context) error { return r.StartElasticJobs(ctx) })},
}

func second[T any](_ T, err error) error { return err }

// ofWorker strikes a random worker.
func ofWorker(strike func(*run, framework.Worker) error) func(*run, *rand.Rand) error {
	return func(r *run, random *rand.Rand) error {
		there, err := r.Workers(r.ctx, r.ns, name)
		if err != nil || len(there) == 0 {
			return errors.Join(errors.New("there are no workers"), err)
		}
		ids := framework.IDs(there)
		return strike(r, there[ids[random.IntN(len(ids))]])
	}
}

// again kills a program and starts it again.
func again(program string, start func(*run, context.Context) error) func(*run, *rand.Rand) error {
	return func(r *run, _ *rand.Rand) error {
		if err := r.Cluster.KillProgram(r.ctx, program); err != nil {
			return err
		}
		return start(r, context.WithoutCancel(r.ctx))
	}
}

// TestAMixOfFaults makes the workload and the programs that manage it fail at random for HOLDFAST_MIX (five minutes).
// The quota is held throughout. At the end the workload has succeeded, or failed with a stated reason, and no objects
// are left.
func TestAMixOfFaults(t *testing.T) {
	r := begins(t, settings{restarts: 12, resets: 50})
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("HOLDFAST_MIX_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		r.must(err)
		seed = n
	}
	period := 5 * time.Minute
	if text := os.Getenv("HOLDFAST_MIX"); text != "" {
		d, err := time.ParseDuration(text)
		r.must(err)
		period = d
	}
	t.Logf("%s of faults, HOLDFAST_MIX_SEED=%d", period, seed)
	stop := r.watchQuota()
	r.suffer(rand.New(rand.NewPCG(seed, 0)), period)
	after := r.awaitReady()
	t.Logf("all train again: %s", after.counts())
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	r.finish()
	stop()
	r.show(r.ctx)
	r.remove(r.ctx)
	r.wantNothing()
}

// suffer causes a fault every few seconds: each kind once, then by weight. It logs how often each occurred.
func (r *run) suffer(random *rand.Rand, period time.Duration) {
	r.Helper()
	due := random.Perm(len(mishaps))
	struck, missed := map[string]int{}, 0
	for end := time.Now().Add(period); time.Now().Before(end); time.Sleep(time.Duration(500+random.IntN(4000)) * time.Millisecond) {
		m := draw(random)
		if len(due) > 0 {
			m = mishaps[due[0]]
		}
		if err := m.strike(r, random); err != nil {
			missed++ // the victim may disappear before it is struck
			continue
		}
		struck[m.name]++
		due = due[min(1, len(due)):]
	}
	for _, m := range mishaps {
		r.Logf("%3d times %s", struck[m.name], m.name)
	}
	r.Logf("%3d times without a victim", missed)
	if len(due) > 0 {
		r.Errorf("%d of %d kinds of faults did not happen", len(due), len(mishaps))
	}
}

// draw returns a random kind of fault, by weight.
func draw(random *rand.Rand) mishap {
	total := 0
	for _, m := range mishaps {
		total += m.weight
	}
	n := random.IntN(total)
	for _, m := range mishaps {
		if n -= m.weight; n < 0 {
			return m
		}
	}
	panic("unreachable")
}

// finish makes all workers exit with 0, as often as they start, until the workload has succeeded, or failed with a
// stated reason.
func (r *run) finish() {
	r.Helper()
	r.must(framework.Until(r.ctx, "the workload has ended", func(ctx context.Context) error {
		aw := r.get()
		switch aw.Status.Phase {
		case v1beta2.Succeeded:
			return nil
		case v1beta2.Failed:
			return r.stated(aw)
		}
		there, err := r.Workers(ctx, r.ns, name)
		for _, w := range there {
			_ = r.Finish(ctx, w) // a completed worker has no program, and keeps its pod for the others
		}
		return errors.Join(fmt.Errorf("it is %s", aw.Status.Phase), err)
	}))
}

// stated returns an error unless the failed workload states a reason.
func (r *run) stated(aw *v1beta2.AppWrapper) error {
	for _, c := range aw.Status.Conditions {
		if c.Type == string(v1beta2.Unhealthy) && c.Message != "" {
			r.Logf("failed: %s: %s", c.Reason, c.Message)
			return nil
		}
	}
	return fmt.Errorf("it has failed, but its conditions give no reason: %+v", aw.Status.Conditions)
}

// wantNothing waits until the objects of the workload are gone.
func (r *run) wantNothing() {
	r.Helper()
	workloads := &unstructured.UnstructuredList{}
	workloads.SetAPIVersion("kueue.x-k8s.io/v1beta2")
	workloads.SetKind("WorkloadList")
	for what, list := range map[string]client.ObjectList{
		"pods": &corev1.PodList{}, "Jobs": &batchv1.JobList{}, "Services": &corev1.ServiceList{}, "workloads": workloads,
	} {
		r.must(framework.Until(r.ctx, "no "+what+" are left", func(ctx context.Context) error {
			if err := k8s.List(ctx, list, client.InNamespace(r.ns)); err != nil {
				return err
			}
			if n := meta.LenList(list); n > 0 {
				return fmt.Errorf("%d are", n)
			}
			return nil
		}))
	}
	r.must(framework.Until(r.ctx, "no JobSets are left", func(ctx context.Context) error {
		list := &v1alpha2.JobSetList{}
		if err := r.Client.List(ctx, list, client.InNamespace(r.ns)); err != nil {
			return err
		}
		if len(list.Items) > 0 {
			return fmt.Errorf("%d are", len(list.Items))
		}
		return nil
	}))
}

//go:build e2e && e2e_all

package failures

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// supervised is the driver whose workers are children of a supervisor that the manager has added. Their containers keep
// running.
type supervised struct{}

func (supervised) agent() string { return "" }

// configure keeps only the annotation and the worker of the example, as a user would write it.
func (supervised) configure(js *v1alpha2.JobSet, w workload) {
	job := &js.Spec.ReplicatedJobs[0].Template.Spec
	job.BackoffLimit = nil
	pod := &job.Template.Spec
	pod.TerminationGracePeriodSeconds = ptr.To[int64](1)
	pod.RestartPolicy = corev1.RestartPolicyNever
	pod.InitContainers, pod.Volumes = nil, nil
	worker := &pod.Containers[0]
	worker.Command = []string{"/worker"}
	if w.OnTerm != "" {
		worker.Env = append(worker.Env, corev1.EnvVar{Name: "WORKER_ON_TERM", Value: w.OnTerm})
	}
	if w.Progress != "" {
		js.Annotations[v1alpha2.ProgressTimeoutKey], js.Annotations[v1alpha2.ProgressFromKey] = silence.String(), w.Progress
	}
	if w.Grace != 0 {
		worker.Env = append(worker.Env, corev1.EnvVar{Name: "WORKER_TERMINATION_GRACE_PERIOD", Value: w.Grace.String()})
	}
}

// killAgain expects no further restart. A worker at the barrier runs nothing that a peer could wait for. It joins
// again, in the same restart.
func (supervised) killAgain(g *group, was instance) outcome {
	g.awaitOneJoined()
	g.killSupervisor(was)
	return outcome{Least: 1, Most: 1, Reborn: []string{was.Where.ID}}
}

// awaitAlone waits until the worker waits at the barrier, which only the store can open.
func (supervised) awaitAlone(g *group, was instance) {
	g.must(framework.Until(g.ctx, "worker "+was.Where.ID+" waits", func(ctx context.Context) error {
		now, err := g.instances(ctx, g.Environment, g.js)
		if is := now[was.Where.ID]; err == nil && is.Ready {
			err = fmt.Errorf("it runs: %+v", is)
		}
		return err
	}))
	g.stayWaiting(was, quiet)
}

func (g *group) stayWaiting(was instance, period time.Duration) {
	g.Helper()
	for end := time.Now().Add(period); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if is := g.now()[was.Where.ID]; is.Ready {
			g.Fatalf("worker %s runs although the store is unreachable: %+v", was.Where.ID, is)
		}
	}
}

// killSupervisor kills the whole container, as running out of memory does.
func (g *group) killSupervisor(i instance) {
	g.Helper()
	_, err := g.SignalContainer(g.ctx, i.Where.PodUID, "worker", unix.SIGKILL)
	g.must(err)
}

func (supervised) instances(ctx context.Context, env *framework.Environment, js *v1alpha2.JobSet) (map[string]instance, error) {
	workers, err := env.Workers(ctx, js.Namespace, js.Name)
	instances := map[string]instance{}
	for id, w := range workers {
		instances[id] = supervisedInstance(ctx, env, w)
	}
	return instances, err
}

// supervisedInstance returns the instance of a worker. A worker that waits at the barrier has no program, and is not
// ready.
func supervisedInstance(ctx context.Context, env *framework.Environment, w framework.Worker) instance {
	i := instance{ID: w.ContainerID, Where: w}
	if !w.Ready {
		return i
	}
	program, err := env.Program(ctx, w)
	if err != nil {
		return i
	}
	starts, err := env.Starts(ctx, w)
	if err != nil || starts == 0 {
		return i
	}
	i.ID, i.Lives, i.Ready = fmt.Sprintf("%s/%s", w.ContainerID, program), starts-1, true
	return i
}

func (supervised) signal(ctx context.Context, env *framework.Environment, i instance, s unix.Signal) (time.Time, error) {
	return env.Signal(ctx, i.Where, s)
}

// Running out of memory kills the whole container. The container that the kubelet then starts joins the round of the
// restart that this failure has caused.
func TestASupervisorIsKilled(t *testing.T) {
	for name, prepare := range map[string]func(*group){
		"at rest":                    func(*group) {},
		"in the middle of a restart": func(g *group) { g.breakOff() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := workload{}
			if name != "at rest" {
				w = stubborn
			}
			g := start(t, supervised{}, w)
			prepare(g)
			dead := g.nth(1)
			g.killSupervisor(dead)
			// The log of its new container begins with one start.
			g.settle(outcome{Least: 1, Most: 1, Reborn: []string{dead.Where.ID}})
		})
	}
}

// The same worker fails thirty times in a row. The kubelet's back-off applies only to containers that exit, and none
// does here.
func TestThirtyRestartsOfTheSameWorkerWithoutBackOff(t *testing.T) {
	t.Parallel()
	const restarts = 30
	g := start(t, supervised{}, workload{MaxRestarts: restarts})
	first, containers := g.before, g.containers()
	begun := time.Now()
	for round := range int64(restarts) {
		g.kill(g.nth(0))
		g.awaitSync(1, round+1)
		g.before = g.awaitRestarted(first, int(round)+1)
	}
	g.Logf("%d restarts in %s", restarts, time.Since(begun).Round(time.Millisecond))
	g.before = first
	g.settle(outcome{Least: restarts, Most: restarts})
	if after := g.containers(); fmt.Sprint(after) != fmt.Sprint(containers) {
		t.Errorf("containers %v became %v", containers, after)
	}
}

// containers returns the container IDs by worker.
func (g *group) containers() map[string]string {
	g.Helper()
	workers, err := g.Workers(g.ctx, g.js.Namespace, g.js.Name)
	g.must(err)
	ids := map[string]string{}
	for id, w := range workers {
		ids[id] = w.ContainerID
	}
	return ids
}

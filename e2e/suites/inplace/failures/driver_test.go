//go:build e2e && e2e_all

package failures

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// driver restarts workers. The cases work with instances, and do not depend on how a driver implements them.
type driver interface {
	// configure makes the example's workers use this driver.
	configure(js *v1alpha2.JobSet, w workload)
	// instances returns the current instances by worker. Workers whose pod is being deleted are left out.
	instances(ctx context.Context, env *framework.Environment, js *v1alpha2.JobSet) (map[string]instance, error)
	// signal sends a signal to a worker's program.
	signal(ctx context.Context, env *framework.Environment, i instance, s unix.Signal) (time.Time, error)
	// agent returns the name of the container that reports for the worker, or "" if the agent cannot die without the
	// worker.
	agent() string
	// killAgain kills a worker in the middle of a restart, after it has restarted, and returns the expected outcome.
	killAgain(g *group, was instance) outcome
	// awaitAlone returns once it is clear what happens to a dead worker while the store is unreachable.
	awaitAlone(g *group, was instance)
}

// drivers are the drivers that all cases run with.
var drivers = map[string]driver{"cri": cri{}, "exec": supervised{}}

// instance is one execution of a worker's program.
type instance struct {
	ID    string // unique to each execution
	Lives int    // restarts in this pod so far
	Ready bool
	Where framework.Worker
}

// workload configures the JobSet of a case. Zero values are those of the example.
type workload struct {
	Name        string
	Size        int32
	MaxRestarts int32
	OnTerm      string        // what the workers do on SIGTERM: exit, finish, ignore
	Grace       time.Duration // between SIGTERM and SIGKILL of an ordered restart
	Progress    string        // how the workers report progress (exec); empty: not at all
}

// stubborn workers prolong a restart, so that other faults happen in the middle of it.
var stubborn = workload{OnTerm: "ignore", Grace: 10 * time.Second}

// only is the variable that selects a single driver.
const only = "HOLDFAST_DRIVER"

// each runs a case with every driver, in parallel with other cases. The fault must not affect any other group.
func each(t *testing.T, run func(t *testing.T, d driver)) {
	t.Parallel()
	inTurn(t, func(t *testing.T, d driver) {
		t.Parallel()
		run(t, d)
	})
}

// inTurn runs a case with one driver after the other. No other case runs at the same time, because the fault affects all groups.
func inTurn(t *testing.T, run func(t *testing.T, d driver)) {
	for name, d := range drivers {
		if wanted := os.Getenv(only); wanted != "" && wanted != name {
			continue
		}
		t.Run(name, func(t *testing.T) { run(t, d) })
	}
}

// cri is the driver whose sidecar restarts the worker's container.
type cri struct{}

func (cri) agent() string { return "agent" }

// killAgain expects two restarts. There is no barrier, so the peers may already wait for the dead worker in a
// rendezvous.
func (cri) killAgain(g *group, was instance) outcome {
	g.awaitReborn(was)
	g.awaitOneJoined()
	g.kill(g.now()[was.Where.ID])
	return outcome{Least: 2, Most: 2, Deaths: map[string]int{was.Where.ID: 1}}
}

// awaitAlone waits for the restart: the kubelet restarts the container without a decision by the group.
func (cri) awaitAlone(g *group, was instance) { g.awaitReborn(was) }

func (cri) configure(js *v1alpha2.JobSet, w workload) {
	pod := &js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec
	pod.TerminationGracePeriodSeconds = ptr.To[int64](1)
	if w.OnTerm != "" {
		pod.Containers[0].Env = append(pod.Containers[0].Env, corev1.EnvVar{Name: "WORKER_ON_TERM", Value: w.OnTerm})
	}
	const grace = "--worker-termination-grace-period="
	for i, arg := range pod.InitContainers[0].Args {
		if w.Grace != 0 && strings.HasPrefix(arg, grace) {
			pod.InitContainers[0].Args[i] = fmt.Sprint(grace, w.Grace)
		}
	}
}

func (cri) instances(ctx context.Context, env *framework.Environment, js *v1alpha2.JobSet) (map[string]instance, error) {
	workers, err := env.Workers(ctx, js.Namespace, js.Name)
	instances := map[string]instance{}
	for id, w := range workers {
		instances[id] = instance{ID: w.ContainerID, Lives: int(w.Restarts), Ready: w.Ready, Where: w}
	}
	return instances, err
}

func (cri) signal(ctx context.Context, env *framework.Environment, i instance, s unix.Signal) (time.Time, error) {
	return env.Signal(ctx, i.Where, s)
}

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

// driver restarts workers. The cases speak of instances, the lives of a worker, and do not know what those are.
type driver interface {
	// configure gives the workers of the example this driver.
	configure(js *v1alpha2.JobSet, w workload)
	// instances are the present ones by worker; workers whose pod is being deleted are left out.
	instances(ctx context.Context, env *framework.Environment, js *v1alpha2.JobSet) (map[string]instance, error)
	// signal reaches the program of a worker.
	signal(ctx context.Context, env *framework.Environment, i instance, s unix.Signal) (time.Time, error)
	// agent is the container that reports for the worker, or "" if it cannot die without the worker.
	agent() string
	// killAgain lets a worker die in the middle of a restart, when it has been restarted already, and tells what comes of it.
	killAgain(g *group, was instance) outcome
	// awaitAlone returns once it is seen what becomes of a dead worker while the store is away.
	awaitAlone(g *group, was instance)
}

// drivers are those that all cases run with.
var drivers = map[string]driver{"cri": cri{}, "exec": supervised{}}

// instance is one life of a worker's program.
type instance struct {
	ID    string // differs between any two lives
	Lives int    // restarts in this pod so far
	Ready bool
	Where framework.Worker
}

// workload is what a case asks of its JobSet; zero values are the example's.
type workload struct {
	Name        string
	Size        int32
	MaxRestarts int32
	OnTerm      string        // what the workers do on SIGTERM: exit, finish, ignore
	Grace       time.Duration // between SIGTERM and SIGKILL of an ordered restart
	Progress    string        // what the workers show with that they get on (exec); empty: they are not asked
}

// stubborn workers hold a restart open for so long: what happens meanwhile happens in the middle of it.
var stubborn = workload{OnTerm: "ignore", Grace: 10 * time.Second}

// only is the variable that leaves out all drivers but the one it names.
const only = "HOLDFAST_DRIVER"

// each runs a case with every driver.
func each(t *testing.T, run func(t *testing.T, d driver)) {
	for name, d := range drivers {
		if wanted := os.Getenv(only); wanted != "" && wanted != name {
			continue
		}
		t.Run(name, func(t *testing.T) { run(t, d) })
	}
}

// cri is the sidecar that restarts the worker's container.
type cri struct{}

func (cri) agent() string { return "agent" }

// There is no barrier: its peers may already wait for the dead one in a rendezvous, so one more restart follows.
func (cri) killAgain(g *group, was instance) outcome {
	g.awaitReborn(was)
	g.awaitOneJoined()
	g.kill(g.now()[was.Where.ID])
	return outcome{Least: 2, Most: 2, Deaths: map[string]int{was.Where.ID: 1}}
}

// The kubelet asks nobody.
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

package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/e2e/fakes/pods"
	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/framework/footprint"
)

const (
	playedNamespace = "bench-appwrapper-played"
	// settling leaves time for the last writes, and for the first reconciles of all AppWrappers after a start.
	settling = 20 * time.Second
	// atRest is how long usage is measured without activity.
	atRest = 30 * time.Second
)

// size is one measurement of the manager with all pods running.
type size struct {
	Workloads, Pods int
	// Seconds and Usage are the time until all AppWrappers were ready and what the manager used during that time. The
	// memory in Usage is the peak.
	Seconds float64
	Usage   framework.Usage
	// Rest is the usage during atRest.
	Rest framework.Usage
	// RestartMiB is the peak memory of a manager that is restarted while all these objects exist.
	RestartMiB float64
}

// playedJob is not managed by the Job controller. The benchmark creates its pods and writes their status.
const playedJob = `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":%q},"spec":{"managedBy":"bench.holdfast.dev/played","parallelism":%d,"completions":%d,
"completionMode":"Indexed","template":{"spec":{"restartPolicy":"Never","tolerations":[{"operator":"Exists"}],"containers":[{"name":"worker","image":
"registry.example/team/trainer:v1.2.3","command":["python","-m","train"],"env":[{"name":"NCCL_DEBUG","value":"INFO"},{"name":"DATA","value":"/data/train"}],
"resources":{"requests":{"cpu":"8","memory":"64Gi","example.com/gpu":"8"},"limits":{"memory":"64Gi","example.com/gpu":"8"}},
"volumeMounts":[{"name":"data","mountPath":"/data"}]}],"volumes":[{"name":"data","emptyDir":{}}]}}}}`

// measurePlayed measures each size in turn. The manager keeps running while workloads are added.
func (b *bench) measurePlayed(ctx context.Context) ([]size, error) {
	if err := b.env.Namespace(ctx, playedNamespace); err != nil {
		return nil, err
	}
	var sizes []size
	from := 0
	for _, workloads := range b.sizes {
		if err := pods.CreateNodes(ctx, b.client, workloads*b.played); err != nil {
			return nil, err
		}
		s, err := b.measureSize(ctx, from, workloads)
		if err != nil {
			return nil, fmt.Errorf("%d AppWrappers of %d pods: %w", workloads, b.played, err)
		}
		fmt.Fprintf(os.Stderr, "%+v\n", s)
		sizes = append(sizes, s)
		from = workloads
	}
	return sizes, nil
}

func (b *bench) measureSize(ctx context.Context, from, to int) (size, error) {
	s := size{Workloads: to, Pods: to * b.played}
	begin := time.Now()
	var err error
	if s.Usage, err = b.use(ctx, func() error { return b.playWorkloads(ctx, from, to) }); err != nil {
		return s, err
	}
	s.Seconds = time.Since(begin).Seconds()
	if err := framework.Pause(ctx, settling); err != nil {
		return s, err
	}
	if s.Rest, err = b.use(ctx, func() error { return framework.Pause(ctx, atRest) }); err != nil {
		return s, err
	}
	if err := b.env.Cluster.StopProgram(ctx, manager); err != nil {
		return s, err
	}
	if err := b.startManager(ctx); err != nil {
		return s, err
	}
	if err := framework.Pause(ctx, settling); err != nil {
		return s, err
	}
	pid, err := b.env.Cluster.ProgramPID(manager)
	if err != nil {
		return s, err
	}
	s.RestartMiB, err = footprint.Peak(pid)
	return s, err
}

// use returns the manager's usage while do runs. Memory is the peak.
func (b *bench) use(ctx context.Context, do func() error) (framework.Usage, error) {
	used, err := b.env.UsagesDuring(ctx, []framework.Metered{{Name: manager, Metrics: metricsAddress}}, do)
	if err != nil {
		return framework.Usage{}, err
	}
	return used[0], nil
}

// playWorkloads creates workloads, creates their pods once the manager has created the Jobs, and waits until all are
// ready.
func (b *bench) playWorkloads(ctx context.Context, from, to int) error {
	var done atomic.Int32
	err := framework.Each(to-from, func(i int) error {
		if err := b.playWorkload(ctx, from+i); err != nil {
			return err
		}
		if n := done.Add(1); n%500 == 0 {
			fmt.Fprintf(os.Stderr, "%d workloads have their pods\n", n)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return b.await(ctx, playedNamespace, to, 3*time.Second, ready)
}

func (b *bench) playWorkload(ctx context.Context, i int) error {
	err := b.client.Create(ctx, &v1beta2.AppWrapper{
		ObjectMeta: metav1.ObjectMeta{Name: name(i), Namespace: playedNamespace},
		Spec: v1beta2.AppWrapperSpec{Components: []v1beta2.AppWrapperComponent{{
			Template: runtime.RawExtension{Raw: []byte(strings.ReplaceAll(fmt.Sprintf(playedJob, name(i), b.played, b.played), "\n", ""))},
		}}},
	})
	if err != nil {
		return err
	}
	var job batchv1.Job
	for found := false; !found; {
		err := b.client.Get(ctx, client.ObjectKey{Namespace: playedNamespace, Name: name(i)}, &job)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if found = err == nil; !found {
			if err := framework.Pause(ctx, interval); err != nil {
				return err
			}
		}
	}
	for index := range b.played {
		if _, err := pods.Run(ctx, b.client, &job, index, i*b.played+index); err != nil {
			return err
		}
	}
	return nil
}

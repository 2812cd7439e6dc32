package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/framework/footprint"
)

const (
	playedNamespace = "bench-appwrapper-played"
	// podsPerNode is the number of pods on each of the nodes of played pods, on which no kubelet runs.
	podsPerNode = 100
	// settling leaves time for the last writes, and for the first reconciles of all AppWrappers after a start.
	settling = 20 * time.Second
	// atRest is how long use is measured without activity.
	atRest = 30 * time.Second
)

// size is one measurement of the manager with all pods running.
type size struct {
	Workloads, Pods int
	// Seconds and Usage are the time until all AppWrappers were ready and what the manager used for it. Its memory is
	// the peak.
	Seconds float64
	Usage   framework.Usage
	// Rest is the usage during atRest.
	Rest framework.Usage
	// RestartMiB is the peak memory of a manager that starts with all these objects.
	RestartMiB float64
}

// playedJob is not managed by the Job controller. The benchmark creates its pods and writes their status.
const playedJob = `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":%q},"spec":{"managedBy":"bench.holdfast.dev/played","parallelism":%d,"completions":%d,
"completionMode":"Indexed","template":{"spec":{"restartPolicy":"Never","tolerations":[{"operator":"Exists"}],"containers":[{"name":"worker","image":
"registry.example/team/trainer:v1.2.3","command":["python","-m","train"],"env":[{"name":"NCCL_DEBUG","value":"INFO"},{"name":"DATA","value":"/data/train"}],
"resources":{"requests":{"cpu":"8","memory":"64Gi","example.com/gpu":"8"},"limits":{"memory":"64Gi","example.com/gpu":"8"}},
"volumeMounts":[{"name":"data","mountPath":"/data"}]}],"volumes":[{"name":"data","emptyDir":{}}]}}}}`

// measurePlayed increases the number of workloads from size to size with the same manager.
func (b *bench) measurePlayed(ctx context.Context) ([]size, error) {
	if err := b.env.Namespace(ctx, playedNamespace); err != nil {
		return nil, err
	}
	var sizes []size
	from := 0
	for _, workloads := range b.sizes {
		if err := b.playNodes(ctx, workloads*b.played/podsPerNode+1); err != nil {
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
	if err := pause(ctx, settling); err != nil {
		return s, err
	}
	if s.Rest, err = b.use(ctx, func() error { return pause(ctx, atRest) }); err != nil {
		return s, err
	}
	if err := b.env.Cluster.StopProgram(ctx, manager); err != nil {
		return s, err
	}
	if err := b.startManager(ctx); err != nil {
		return s, err
	}
	if err := pause(ctx, settling); err != nil {
		return s, err
	}
	pid, err := b.env.Cluster.ProgramPID(manager)
	if err != nil {
		return s, err
	}
	s.RestartMiB, err = footprint.Peak(pid)
	return s, err
}

// use returns what the manager uses while do runs. Its memory is the peak.
func (b *bench) use(ctx context.Context, do func() error) (framework.Usage, error) {
	pid, err := b.env.Cluster.ProgramPID(manager)
	if err != nil {
		return framework.Usage{}, err
	}
	if err := footprint.Forget(pid); err != nil {
		return framework.Usage{}, err
	}
	before, err := framework.UsageAt(ctx, metricsAddress)
	if err != nil {
		return framework.Usage{}, err
	}
	if err := do(); err != nil {
		return framework.Usage{}, err
	}
	after, err := framework.UsageAt(ctx, metricsAddress)
	if err != nil {
		return framework.Usage{}, err
	}
	used := after.Since(before)
	peak, err := footprint.Peak(pid)
	used.RSS = peak * (1 << 20)
	return used, err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// playNodes creates the first n nodes, unless they exist.
func (b *bench) playNodes(ctx context.Context, n int) error {
	return framework.Each(n, func(i int) error {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: playedNode(i)}}
		err := b.client.Create(ctx, node)
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		if err != nil {
			return err
		}
		before := node.DeepCopy()
		node.Status.Conditions = []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Played", LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
		}}
		return b.client.Status().Patch(ctx, node, client.MergeFrom(before))
	})
}

func playedNode(i int) string { return fmt.Sprintf("played-%04d", i) }

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
			if err := pause(ctx, interval); err != nil {
				return err
			}
		}
	}
	for index := range b.played {
		if err := b.playPod(ctx, &job, index, playedNode((i*b.played+index)/podsPerNode)); err != nil {
			return err
		}
	}
	return nil
}

// playPod does what the Job controller, the scheduler and the kubelet would do.
func (b *bench) playPod(ctx context.Context, job *batchv1.Job, index int, node string) error {
	labels := map[string]string{batchv1.JobNameLabel: job.Name, batchv1.JobCompletionIndexAnnotation: fmt.Sprint(index)}
	for key, value := range job.Spec.Template.Labels {
		labels[key] = value
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-%d", job.Name, index), Namespace: job.Namespace, Labels: labels,
			Annotations:     map[string]string{batchv1.JobCompletionIndexAnnotation: fmt.Sprint(index)},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Spec: *job.Spec.Template.Spec.DeepCopy(),
	}
	pod.Spec.NodeName = node
	if err := b.client.Create(ctx, pod); err != nil {
		return err
	}
	now := metav1.Now()
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, HostIP: "10.1.2.3", PodIP: "10.2.3.4", PodIPs: []corev1.PodIP{{IP: "10.2.3.4"}}, StartTime: &now,
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: "worker", Ready: true, Started: ptr.To(true), Image: pod.Spec.Containers[0].Image, ImageID: "sha256:" + strings.Repeat("0", 64),
			ContainerID: "containerd://" + strings.Repeat("0", 64), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		}},
	}
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	return b.client.Status().Update(ctx, pod)
}

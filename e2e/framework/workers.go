package framework

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// workerContainer is the name of the worker's container in the examples. In pods without such a container, the first one is used.
const workerContainer = "worker"

// Worker is one worker of a JobSet as shown by the API server.
type Worker struct {
	ID          string // jobset-replicatedjob-job-index
	Namespace   string
	JobUID      string
	Pod         string
	PodUID      string
	Container   string
	ContainerID string
	Restarts    int32
	Ready       bool
}

// Pods lists the pods of a JobSet, of an Indexed Job without a JobSet, or of a group declared by pods. For the latter, name is the name of the
// pod with index 0.
func (env *Environment) Pods(ctx context.Context, namespace, name string) ([]corev1.Pod, error) {
	var list corev1.PodList
	for _, label := range []string{v1alpha2.JobSetNameKey, batchv1.JobNameLabel, v1alpha2.PodGroupKey} {
		if err := env.Client.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{label: name}); err != nil {
			return nil, fmt.Errorf("listing pods: %w", err)
		}
		if len(list.Items) > 0 {
			break
		}
	}
	return list.Items, nil
}

// Workers returns the workers of a JobSet by ID, which is the same as their slot's ID. Spares and pods that are being deleted are left out.
func (env *Environment) Workers(ctx context.Context, namespace, jobSet string) (map[string]Worker, error) {
	pods, err := env.Pods(ctx, namespace, jobSet)
	if err != nil {
		return nil, err
	}
	workers := map[string]Worker{}
	for i := range pods {
		if pods[i].DeletionTimestamp.IsZero() && !IsSpare(&pods[i]) {
			w := workerOf(&pods[i])
			workers[w.ID] = w
		}
	}
	return workers, nil
}

// IsSpare reports whether a pod is waiting to be assigned a slot.
func IsSpare(pod *corev1.Pod) bool {
	slot := pod.Annotations[v1alpha2.SlotKey]
	return slot == v1alpha2.SlotWaits || slot == "" && pod.Annotations[v1alpha2.JobIndexKey] == coordination.Spares
}

func workerOf(pod *corev1.Pod) Worker {
	a := pod.Annotations
	w := Worker{
		ID: a[v1alpha2.JobSetNameKey] + "-" + a[v1alpha2.ReplicatedJobNameKey] + "-" + a[v1alpha2.JobIndexKey] + "-" +
			a[batchv1.JobCompletionIndexAnnotation],
		Namespace: pod.Namespace, Pod: pod.Name, PodUID: string(pod.UID), Container: pod.Spec.Containers[0].Name,
	}
	if slot := a[v1alpha2.SlotKey]; slot != "" && slot != v1alpha2.SlotWaits {
		w.ID = slot
	}
	if slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == workerContainer }) {
		w.Container = workerContainer
	}
	if job := metav1.GetControllerOf(pod); job != nil {
		w.JobUID = string(job.UID)
	}
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name == w.Container {
			w.ContainerID, w.Restarts, w.Ready = status.ContainerID, status.RestartCount, status.Ready && status.State.Running != nil
		}
	}
	return w
}

// AwaitWorkers returns the workers once n of them are ready.
func (env *Environment) AwaitWorkers(ctx context.Context, namespace, jobSet string, n int) (map[string]Worker, error) {
	var workers map[string]Worker
	err := Until(ctx, fmt.Sprintf("%d workers of %s are ready", n, jobSet), func(ctx context.Context) error {
		var err error
		if workers, err = env.Workers(ctx, namespace, jobSet); err != nil {
			return err
		}
		ready := 0
		for _, w := range workers {
			if w.Ready {
				ready++
			}
		}
		if ready != n || len(workers) != n {
			return fmt.Errorf("%d of %d are ready", ready, len(workers))
		}
		return nil
	})
	return workers, err
}

// Signal sends a signal to a worker's process from the host, and returns the time. With a supervisor, the worker is the supervisor's child. If
// the supervisor is about to start the worker, Signal waits.
func (env *Environment) Signal(ctx context.Context, w Worker, signal unix.Signal) (time.Time, error) {
	pid, err := env.awaitProgram(ctx, w)
	if err != nil {
		return time.Time{}, err
	}
	return awaitKill(ctx, pid, signal, "worker "+w.ID)
}

// SignalContainer sends a signal to the first process of a container from the host, and returns the time.
func (env *Environment) SignalContainer(ctx context.Context, podUID, container string, signal unix.Signal) (time.Time, error) {
	pid, err := env.Cluster.ContainerPID(ctx, podUID, container)
	if err != nil {
		return time.Time{}, err
	}
	return awaitKill(ctx, pid, signal, "container "+container+" of pod "+podUID)
}

// ownSignals are the signals to which only programs of the image "worker" react. The programs ignore these signals while they are starting.
var ownSignals = []unix.Signal{unix.SIGUSR1, unix.SIGUSR2, unix.SIGHUP, unix.SIGPWR}

func awaitKill(ctx context.Context, pid int, signal unix.Signal, what string) (time.Time, error) {
	if slices.Contains(ownSignals, signal) {
		if err := Until(ctx, what+" handles signals", func(context.Context) error { return isListening(pid) }); err != nil {
			return time.Time{}, err
		}
	}
	return kill(pid, signal, what)
}

func kill(pid int, signal unix.Signal, what string) (time.Time, error) {
	at := time.Now()
	if err := unix.Kill(pid, signal); err != nil {
		return at, fmt.Errorf("sending %s to %s: %w", unix.SignalName(signal), what, err)
	}
	return at, nil
}

// DeletePod deletes a worker's pod, and returns the time. It does not wait until the pod is gone.
func (env *Environment) DeletePod(ctx context.Context, w Worker, options ...client.DeleteOption) (time.Time, error) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: w.Pod}}
	options = append(options, client.Preconditions{UID: ptr.To(types.UID(w.PodUID))})
	at := time.Now()
	if err := env.Client.Delete(ctx, pod, options...); err != nil {
		return at, fmt.Errorf("deleting the pod of worker %s: %w", w.ID, err)
	}
	return at, nil
}

// AwaitPodEnd waits until the API server shows that no container of a worker's pod is running, and returns when it first did.
func (env *Environment) AwaitPodEnd(ctx context.Context, w Worker) (ended time.Time, err error) {
	err = UntilEvery(ctx, "pod "+w.Pod+" has ended", 5*time.Millisecond, Patience, func(ctx context.Context) error {
		var pod corev1.Pod
		err := env.Client.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: w.Pod}, &pod)
		ended = time.Now()
		over := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded || ptr.Deref(pod.DeletionGracePeriodSeconds, 1) == 0
		switch {
		case apierrors.IsNotFound(err), err == nil && (over || string(pod.UID) != w.PodUID):
			return nil
		case err == nil:
			err = errors.New("it has not ended")
		}
		return err
	})
	return ended, err
}

// Cordon makes a node unschedulable, or schedulable again. Nodes are counted from 1.
func (env *Environment) Cordon(ctx context.Context, number int, closed bool) error {
	node := &corev1.Node{}
	if err := env.Client.Get(ctx, client.ObjectKey{Name: env.Cluster.NodeNames()[number-1]}, node); err != nil {
		return fmt.Errorf("getting a node: %w", err)
	}
	patch := client.MergeFrom(node.DeepCopy())
	node.Spec.Unschedulable = closed
	return env.Client.Patch(ctx, node, patch)
}

// AwaitSpares returns once the pods of a JobSet that are running and waiting to be assigned a slot are exactly those with the given host names,
// which must be sorted.
func (env *Environment) AwaitSpares(ctx context.Context, js *v1alpha2.JobSet, hosts ...string) error {
	return Until(ctx, fmt.Sprintf("the spares with the host names %q are waiting", hosts), func(ctx context.Context) error {
		pods, err := env.Pods(ctx, js.Namespace, js.Name)
		if err != nil {
			return err
		}
		var waiting []string
		for i := range pods {
			if p := &pods[i]; IsSpare(p) && p.DeletionTimestamp.IsZero() {
				waiting = append(waiting, p.Spec.Hostname)
				if s := p.Status.ContainerStatuses; len(s) == 0 || s[0].State.Running == nil {
					return fmt.Errorf("%s is not running", p.Name)
				}
			}
		}
		if slices.Sort(waiting); !slices.Equal(waiting, hosts) {
			return fmt.Errorf("the waiting spares are %q", waiting)
		}
		return nil
	})
}

// IDs returns the IDs of workers, sorted.
func IDs(workers map[string]Worker) []string { return slices.Sorted(maps.Keys(workers)) }

var startedLine = regexp.MustCompile(`^started unix_ms=(\d+)`)

func startIn(line string) (time.Time, bool) {
	m := startedLine.FindStringSubmatch(line)
	if m == nil {
		return time.Time{}, false
	}
	ms, err := strconv.ParseInt(m[1], 10, 64)
	return time.UnixMilli(ms), err == nil
}

// StartedAt returns when the program in a worker's running container started, according to its log.
func (env *Environment) StartedAt(ctx context.Context, w Worker) (time.Time, error) {
	stream, err := env.Kube.CoreV1().Pods(w.Namespace).GetLogs(w.Pod, &corev1.PodLogOptions{Container: w.Container}).Stream(ctx)
	if err != nil {
		return time.Time{}, fmt.Errorf("reading the log of %s: %w", w.Pod, err)
	}
	defer stream.Close()
	for lines := bufio.NewScanner(stream); lines.Scan(); {
		if at, ok := startIn(lines.Text()); ok {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("worker %s has not logged its start", w.ID)
}

// LastStart returns when the last of the workers started.
func (env *Environment) LastStart(ctx context.Context, workers map[string]Worker) (time.Time, error) {
	var last time.Time
	for _, w := range workers {
		at, err := env.StartedAt(ctx, w)
		if err != nil {
			return last, err
		}
		if at.After(last) {
			last = at
		}
	}
	return last, nil
}

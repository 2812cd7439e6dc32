//go:build envtest

package inprocess

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/scheduler"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/scheduler/internal/testing/apiserver"
)

const (
	namespace = "default"
	patience  = 2 * time.Minute // maximum wait for an expected event; less than the five minutes after which everything is retried
	important = "important"     // the priority class of pods that may preempt
)

var apiServer *rest.Config

func TestMain(m *testing.M) {
	config, stop, err := apiserver.Start()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	apiServer = config
	code := m.Run()
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the control plane:", err)
	}
	os.Exit(code)
}

// world is a cluster that contains only the objects of the test. Nodes are cluster-scoped, so tests run one after another.
type world struct {
	*testing.T
	kubernetes.Interface
}

func newWorld(t *testing.T) *world {
	t.Helper()
	client, err := kubernetes.NewForConfig(apiServer)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, Interface: client}
	t.Cleanup(w.clean)
	w.priority()
	return w
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) clean() {
	ctx, now := context.Background(), metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	w.ok(w.CoreV1().Pods(namespace).DeleteCollection(ctx, now, metav1.ListOptions{}))
	w.ok(w.CoreV1().Nodes().DeleteCollection(ctx, now, metav1.ListOptions{}))
	w.ok(w.EventsV1().Events(namespace).DeleteCollection(ctx, now, metav1.ListOptions{}))
	w.ok(w.SchedulingV1().PriorityClasses().Delete(ctx, important, now))
}

func (w *world) priority() {
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: important}, Value: 1000}
	_, err := w.SchedulingV1().PriorityClasses().Create(w.Context(), class, metav1.CreateOptions{})
	w.ok(err)
}

// node creates a node with a number of CPUs.
func (w *world) node(name, cpus string, labels ...string) {
	w.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	for _, label := range labels {
		node.Labels[label] = "yes"
	}
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpus), corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	node.Status.Capacity = node.Status.Allocatable
	_, err := w.CoreV1().Nodes().Create(w.Context(), node, metav1.CreateOptions{})
	w.ok(err)
}

// pod returns a pod that needs one CPU.
func (w *world) pod(name string, changes ...func(*corev1.Pod)) *corev1.Pod {
	w.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}}}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	pod.Spec.TerminationGracePeriodSeconds = new(int64)
	for _, change := range changes {
		change(pod)
	}
	created, err := w.CoreV1().Pods(namespace).Create(w.Context(), pod, metav1.CreateOptions{})
	w.ok(err)
	return created
}

func staysAwayFrom(hosts ...string) func(*corev1.Pod) { return annotated(memory.FormatHosts(hosts)) }

func annotated(value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Annotations[memory.HostsAnnotation] = value }
}

func onlyOn(label string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{label: "yes"} }
}

func mayPreempt(pod *corev1.Pod) { pod.Spec.PriorityClassName = important }

func wants(cpus string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(cpus)
	}
}

// runsOn creates a pod that is bound before the scheduler starts.
func runsOn(node string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.NodeName = node }
}

func (w *world) get(pod string) *corev1.Pod {
	w.Helper()
	got, err := w.CoreV1().Pods(namespace).Get(w.Context(), pod, metav1.GetOptions{})
	w.ok(err)
	return got
}

// scheduler runs the scheduler with the file's configuration until the test ends.
func (w *world) scheduler(file string) *scheduler.Scheduler {
	w.Helper()
	return w.schedulerAs(apiServer, file)
}

func (w *world) schedulerAs(config *rest.Config, file string) *scheduler.Scheduler {
	w.Helper()
	return w.schedulerFrom(config, shipped(file))
}

func (w *world) schedulerFrom(config *rest.Config, file string) *scheduler.Scheduler {
	w.Helper()
	configuration, err := options.LoadConfigFromFile(klog.Background(), file)
	w.ok(err)
	ctx, cancel := context.WithCancel(context.Background())
	sched, done, err := Start(ctx, config, configuration)
	if err != nil {
		cancel()
		w.Fatal(err)
	}
	w.Cleanup(func() {
		cancel()
		<-done
	})
	return sched
}

// shipped returns the path of a file in the chart.
func shipped(file string) string {
	return filepath.Join("..", "..", "..", "..", "..", "charts", "rescheduler", "files", "scheduler", file)
}

// until waits for the condition described by `what`. The test fails if it is not met in time.
func (w *world) until(what string, condition func(context.Context) (bool, error)) {
	w.Helper()
	if err := wait.PollUntilContextTimeout(w.Context(), 50*time.Millisecond, patience, true, condition); err != nil {
		w.Fatalf("%s: %v", what, err)
	}
}

// lands waits until the pod is bound, and checks the node.
func (w *world) lands(pod, node string) {
	w.Helper()
	var on string
	w.until(pod+" is scheduled", func(ctx context.Context) (bool, error) {
		got, err := w.CoreV1().Pods(namespace).Get(ctx, pod, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		on = got.Spec.NodeName
		return on != "", nil
	})
	if on != node {
		w.Errorf("%s is on %s, not on %s", pod, on, node)
	}
}

// allLand waits until a number of pods are bound.
func (w *world) allLand(pods int) {
	w.Helper()
	w.until(fmt.Sprintf("%d pods are scheduled", pods), func(ctx context.Context) (bool, error) {
		bound, err := w.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName!="})
		return err == nil && len(bound.Items) == pods, err
	})
}

// waits waits until the scheduler reports that the pod fits no node.
func (w *world) waits(pod string) {
	w.Helper()
	w.until(pod+" is reported as unschedulable", func(ctx context.Context) (bool, error) {
		got, err := w.CoreV1().Pods(namespace).Get(ctx, pod, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, condition := range got.Status.Conditions {
			if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
				return true, nil
			}
		}
		return false, nil
	})
}

// says waits for an event about the pod.
func (w *world) says(pod, reason string) {
	w.Helper()
	w.until("an event "+reason+" about "+pod, func(ctx context.Context) (bool, error) {
		events, err := w.EventsV1().Events(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		for _, event := range events.Items {
			if event.Regarding.Name == pod && event.Reason == reason {
				return true, nil
			}
		}
		return false, nil
	})
}

func (w *world) loses(pod, annotation string) {
	w.Helper()
	w.until(pod+" no longer has the annotation", func(ctx context.Context) (bool, error) {
		got, err := w.CoreV1().Pods(namespace).Get(ctx, pod, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		_, found := got.Annotations[annotation]
		return !found, nil
	})
}

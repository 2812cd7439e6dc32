package kubelet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// register creates the nodes, and makes existing ones Ready again.
func (f *Nodes) register(ctx context.Context) error {
	nodes := make([]*corev1.Node, f.options.Nodes)
	err := f.each(f.options.Nodes, func(i int) error {
		node, err := f.registerOne(ctx, i)
		nodes[i] = node
		return err
	})
	if err != nil {
		return err
	}
	for i, node := range nodes {
		f.nodes[node.Name], f.hosts[node.Name] = node, hostAddress(i)
	}
	return nil
}

func (f *Nodes) registerOne(ctx context.Context, i int) (*corev1.Node, error) {
	now := time.Now()
	wanted := f.options.node(i, now)
	node, err := f.client.CoreV1().Nodes().Create(ctx, wanted, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		node, err = f.takeOver(ctx, wanted)
	}
	if err == nil && f.options.Heartbeat > 0 {
		err = f.renew(ctx, node, now)
	}
	if err != nil {
		return nil, fmt.Errorf("registering node %s: %w", wanted.Name, err)
	}
	return node, nil
}

// takeOver updates a node that another process has left behind. It fails if the node does not belong to this
// simulation.
func (f *Nodes) takeOver(ctx context.Context, wanted *corev1.Node) (*corev1.Node, error) {
	left, err := f.client.CoreV1().Nodes().Get(ctx, wanted.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if left.Labels[NameLabel] != f.options.Name {
		return nil, errors.New("a node with this name exists, and does not belong to this simulation")
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"labels": wanted.Labels}, "status": wanted.Status,
	})
	if err != nil {
		return nil, err
	}
	for _, subresource := range [][]string{nil, {"status"}} {
		left, err = f.client.CoreV1().Nodes().Patch(ctx, wanted.Name, types.StrategicMergePatchType, patch,
			metav1.PatchOptions{}, subresource...)
		if err != nil {
			return nil, err
		}
	}
	return left, nil
}

// awaitNodes returns once the node controller has removed its taint from all nodes.
func (f *Nodes) awaitNodes(ctx context.Context) error {
	for {
		waiting, err := f.unready(ctx)
		if err == nil && waiting == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %d simulated nodes: %w", waiting, errors.Join(err, ctx.Err()))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (f *Nodes) unready(ctx context.Context) (int, error) {
	// The API server answers from its cache, which is good enough for a wait.
	list, err := f.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: f.selector(), ResourceVersion: "0"})
	if err != nil {
		return f.options.Nodes, err
	}
	waiting := f.options.Nodes
	for _, node := range list.Items {
		if len(node.Spec.Taints) == 1 {
			waiting--
		}
	}
	return waiting, nil
}

func (f *Nodes) selector() string {
	return labels.Set{TypeLabel: Type, NameLabel: f.options.Name}.String()
}

// removeNodes deletes all nodes except for the first `keep`.
func (f *Nodes) removeNodes(ctx context.Context, keep int) error {
	list, err := f.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: f.selector()})
	if err != nil {
		return fmt.Errorf("listing simulated nodes: %w", err)
	}
	kept := map[string]bool{}
	for i := range keep {
		kept[f.options.nodeName(i)] = true
	}
	return f.each(len(list.Items), func(i int) error {
		name := list.Items[i].Name
		if kept[name] {
			return nil
		}
		err := f.client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("removing node %s: %w", name, err)
		}
		return nil
	})
}

// removePods deletes the nodes' pods with grace period 0, because no kubelet is left to stop them.
func (f *Nodes) removePods(ctx context.Context) error {
	pods := f.pods.List()
	zero := int64(0)
	return f.each(len(pods), func(i int) error {
		pod := pods[i].(*corev1.Pod)
		if f.nodes[pod.Spec.NodeName] == nil {
			return nil
		}
		err := f.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: &zero, Preconditions: &metav1.Preconditions{UID: &pod.UID},
		})
		if err != nil && !over(err) {
			return fmt.Errorf("removing pod %s: %w", pod.Name, err)
		}
		return nil
	})
}

// each calls do n times from up to options.Workers goroutines, and joins the errors.
func (f *Nodes) each(n int, do func(i int) error) error {
	var group sync.WaitGroup
	next, errs := make(chan int), make([]error, n)
	for range min(f.options.Workers, n) {
		group.Go(func() {
			for i := range next {
				errs[i] = do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
	return errors.Join(errs...)
}

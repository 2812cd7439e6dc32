package testbed

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/e2e/testbed/host"
)

// awaitNodes returns once every node accepts pods.
func (u *up) awaitNodes(ctx context.Context) error {
	client, err := u.client()
	if err != nil {
		return err
	}
	for _, n := range u.nodes {
		if err := poll(ctx, startTimeout, func(ctx context.Context) error {
			object, err := client.CoreV1().Nodes().Get(ctx, n.name(), metav1.GetOptions{})
			if err != nil {
				return err
			}
			return takesPods(object, u.started[n.kubelet()])
		}); err != nil {
			return fmt.Errorf("waiting for %s: %w", n.name(), err)
		}
	}
	return nil
}

// takesPods returns an error until a node is Ready, its taints have been removed, which happens shortly
// afterwards, and its status is newer than the start of its kubelet.
func takesPods(node *corev1.Node, since time.Time) error {
	for _, taint := range node.Spec.Taints {
		if taint.Key == corev1.TaintNodeNotReady || taint.Key == corev1.TaintNodeUnreachable {
			return fmt.Errorf("%s has the taint %s", node.Name, taint.Key)
		}
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type != corev1.NodeReady {
			continue
		}
		if condition.Status != corev1.ConditionTrue {
			return fmt.Errorf("%s is not Ready: %s", node.Name, condition.Message)
		}
		// Times in the API have a resolution of one second.
		if condition.LastHeartbeatTime.Time.Before(since.Truncate(time.Second)) {
			return fmt.Errorf("%s has not reported its status since its kubelet was started", node.Name)
		}
		return nil
	}
	return fmt.Errorf("%s has not reported yet whether it is Ready", node.Name)
}

// dropNodes removes the nodes in excess of the requested number.
func (u *up) dropNodes(ctx context.Context) error {
	for _, device := range host.Bridges(bridgePrefix + "node-") {
		number, err := strconv.Atoi(strings.TrimPrefix(device, bridgePrefix+"node-"))
		if err != nil || number <= len(u.nodes) {
			continue
		}
		if err := u.dropNode(ctx, node{number: number, layout: u.layout}); err != nil {
			return fmt.Errorf("dropping node-%d: %w", number, err)
		}
	}
	return nil
}

func (u *up) dropNode(ctx context.Context, n node) error {
	u.say("dropping %s", n.name())
	if err := u.clearNode(ctx, n); err != nil {
		return err
	}
	for _, name := range []string{n.kubelet(), n.containerd(), n.holder()} {
		if err := u.stopComponent(ctx, name, stopTimeout); err != nil {
			return err
		}
	}
	if err := n.bridge().Remove(ctx); err != nil {
		return err
	}
	if err := removeAll(n.dir()); err != nil {
		return err
	}
	client, err := u.client()
	if err != nil {
		return err
	}
	err = client.CoreV1().Nodes().Delete(ctx, n.name(), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

//go:build e2e

// Package tests runs JobSets on a real node: stages in order, host names between pods, the failure policy.
//
// HOLDFAST_KEEP_TESTBED=1 leaves the cluster up at the end.
package tests

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/lab"
	"github.com/holdfast-project/holdfast/e2e/suite"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

// namespace of the examples, which their volumes name.
const namespace = "stages"

// folder of the node that the volumes of the examples are in.
const folder = "/tmp/holdfast-stages"

var shared *lab.Lab

func TestMain(m *testing.M) { os.Exit(suite.Main(begin, m)) }

func begin(ctx context.Context, progress io.Writer) (func(context.Context) error, error) {
	if err := os.RemoveAll(folder); err != nil {
		return nil, fmt.Errorf("removing the files of an earlier run: %w", err)
	}
	l, err := lab.New(ctx, testbed.Options{KubeletRestartPeriod: suite.RestartPeriod}, progress)
	if err != nil {
		return nil, err
	}
	shared = l
	end := func(context.Context) error { return errors.Join(l.Close(), os.RemoveAll(folder)) }
	return end, errors.Join(l.Install(ctx), l.Namespace(ctx, namespace), giveGPUs(ctx, l),
		l.Apply(ctx, namespace, l.File("examples", "volumes", "stages.yaml")))
}

// giveGPUs makes the nodes offer GPUs that they do not have: nothing but the scheduler looks at them.
func giveGPUs(ctx context.Context, l *lab.Lab) error {
	var nodes corev1.NodeList
	if err := l.Client.List(ctx, &nodes); err != nil {
		return fmt.Errorf("listing the nodes: %w", err)
	}
	for i := range nodes.Items {
		node := nodes.Items[i].DeepCopy()
		node.Status.Capacity["nvidia.com/gpu"] = resource.MustParse("20")
		node.Status.Allocatable["nvidia.com/gpu"] = resource.MustParse("20")
		if err := l.Client.Status().Patch(ctx, node, client.MergeFrom(&nodes.Items[i])); err != nil {
			return fmt.Errorf("giving node %s GPUs: %w", node.Name, err)
		}
	}
	return nil
}

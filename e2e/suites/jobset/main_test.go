//go:build e2e

// Package jobset runs JobSets on a real node. It tests ordered stages, host names between pods, and the failure policy.
//
// HOLDFAST_KEEP_TESTBED=1 keeps the cluster running at the end.
package jobset

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

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/suites"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

// namespace is the namespace of the examples. Their volumes refer to it.
const namespace = "stages"

// folder is the node's folder for the examples' volumes.
const folder = "/tmp/holdfast-stages"

var shared *framework.Environment

func TestMain(m *testing.M) { os.Exit(suites.Main(begin, m)) }

func begin(ctx context.Context, progress io.Writer) (func(context.Context) error, error) {
	if err := os.RemoveAll(folder); err != nil {
		return nil, fmt.Errorf("removing the files of an earlier run: %w", err)
	}
	env, err := framework.New(ctx, testbed.Options{KubeletRestartPeriod: suites.RestartPeriod}, progress)
	if err != nil {
		return nil, err
	}
	shared = env
	end := func(context.Context) error { return errors.Join(env.Close(), os.RemoveAll(folder)) }
	return end, errors.Join(env.Install(ctx), env.Namespace(ctx, namespace), giveGPUs(ctx, env),
		env.Apply(ctx, namespace, env.File("examples", "volumes", "stages.yaml")))
}

// giveGPUs makes the nodes advertise GPUs that they do not have. Only the scheduler uses them.
func giveGPUs(ctx context.Context, env *framework.Environment) error {
	var nodes corev1.NodeList
	if err := env.Client.List(ctx, &nodes); err != nil {
		return fmt.Errorf("listing the nodes: %w", err)
	}
	for i := range nodes.Items {
		node := nodes.Items[i].DeepCopy()
		node.Status.Capacity["nvidia.com/gpu"] = resource.MustParse("20")
		node.Status.Allocatable["nvidia.com/gpu"] = resource.MustParse("20")
		if err := env.Client.Status().Patch(ctx, node, client.MergeFrom(&nodes.Items[i])); err != nil {
			return fmt.Errorf("giving node %s GPUs: %w", node.Name, err)
		}
	}
	return nil
}

package framework

import (
	"context"
	"fmt"
	"os/exec"
)

// Plugin runs the built `kubectl holdfast` in the given namespace, and returns its output.
func (env *Environment) Plugin(ctx context.Context, namespace string, args ...string) (string, error) {
	args = append(args, "--kubeconfig", env.Cluster.KubeconfigPath(), "--namespace", namespace)
	out, err := exec.CommandContext(ctx, env.File("bin", "kubectl-holdfast"), args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("kubectl holdfast %v: %w: %s", args, err, out)
	}
	return string(out), nil
}

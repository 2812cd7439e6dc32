package lab

import (
	"context"
	"fmt"
	"os/exec"
)

// Plugin runs `kubectl holdfast` as it was built, in a namespace, and returns what it prints.
func (l *Lab) Plugin(ctx context.Context, namespace string, args ...string) (string, error) {
	args = append(args, "--kubeconfig", l.Cluster.KubeconfigPath(), "--namespace", namespace)
	out, err := exec.CommandContext(ctx, l.File("bin", "kubectl-holdfast"), args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("kubectl holdfast %v: %w: %s", args, err, out)
	}
	return string(out), nil
}

//go:build e2e && e2e_all

package failures

import (
	"context"
	"os/exec"
	"strings"
)

// dump logs the state of the group after a failure.
func (g *group) dump(ctx context.Context) {
	sum, err := g.Summary(ctx, string(g.js.UID))
	g.Logf("the group: %+v %v", sum, err)
	history, err := g.Records(ctx, string(g.js.UID))
	g.Logf("its restarts: %+v %v", history, err)
	for _, args := range [][]string{
		{"-n", g.js.Namespace, "get", "jobset,job,pod", "-o", "wide"},
		{"-n", g.js.Namespace, "get", "events"},
		{"-n", g.js.Namespace, "logs", "-l", "jobset.sigs.k8s.io/jobset-name=" + g.js.Name, "-c", "agent", "--tail=40", "--prefix"},
		{"-n", namespace, "get", "pod,lease"},
		{"-n", namespace, "logs", "-l", "app.kubernetes.io/component=manager", "--all-containers", "--tail=40", "--prefix"},
	} {
		args = append([]string{"--kubeconfig", g.Cluster.KubeconfigPath()}, args...)
		out, _ := exec.CommandContext(ctx, "kubectl", args...).CombinedOutput() // best effort: kubectl may be missing
		g.Logf("kubectl %s\n%s", strings.Join(args[2:], " "), out)
	}
}

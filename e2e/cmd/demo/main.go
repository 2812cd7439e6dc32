// Command demo kills one of a JobSet's eight workers on a real node, twice. It shows three ways to recover: in place
// inside the containers, in place inside the pods, and by recreation. It exits 0 only if each recovery did what its
// name says: the same containers, the same pods, one restart charged for each failure.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/framework/recovery"
	"github.com/holdfast-project/holdfast/e2e/testbed"
	"github.com/holdfast-project/holdfast/e2e/testbed/binaries"
)

const (
	namespace = "default"
	workers   = 8
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if err := announce(); err != nil {
		return err
	}
	env, err := framework.New(ctx, testbed.Options{}, os.Stdout)
	if err != nil {
		return err
	}
	defer env.Close()
	say("installing the JobSet controller and the orchestrator")
	if err := env.Install(ctx); err != nil {
		return err
	}
	var rows []row
	for _, a := range []recovery.Mode{recovery.Exec, recovery.CRI, recovery.Recreate} {
		r, err := show(ctx, env, a)
		if err != nil {
			return fmt.Errorf("showing the recovery %q: %w", a.Name, err)
		}
		rows = append(rows, r)
	}
	compare(rows)
	fmt.Printf("\nThe cluster is still up: export KUBECONFIG=%s\n`make demo-clean` removes it.\n", env.Cluster.KubeconfigPath())
	return nil
}

// announce prints what must be built before the cluster can start, and about how long that takes.
func announce() error {
	layout, err := testbed.NewLayout()
	if err != nil {
		return err
	}
	all, missing := binaries.Default(binaries.DefaultKubernetes), 0
	for _, c := range all {
		if _, err := os.Stat(filepath.Join(layout.Bin(), c.Folder, c.Name)); err != nil {
			missing++
		}
	}
	if missing == 0 {
		say("starting a Kubernetes %s cluster of one node; with the three JobSets this takes about 80 s", binaries.DefaultKubernetes)
		return nil
	}
	say("building %d of the %d programs of a Kubernetes %s cluster: about 8 minutes on two cores, once", missing, len(all),
		binaries.DefaultKubernetes)
	return nil
}

func say(format string, args ...any) { fmt.Printf("== "+format+"\n", args...) }

//go:build e2e && e2e_all

package tests

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/lab"
)

// build is a set of images of one version of the protocol.
type build struct {
	orchestrator string // empty: the chart's
	agent, exec  string
}

// next speaks the next version of the protocol, whose store serves this one's agents, too (make build-next).
var (
	this = build{agent: lab.AgentImage, exec: lab.ExecImage}
	next = build{
		orchestrator: "localhost/holdfast/jobset-orchestrator:next",
		agent:        "localhost/holdfast/agent:next", exec: "localhost/holdfast/holdfast-exec:next",
	}
)

// Agents outlive controllers: those of a job that runs meanwhile keep their version, whatever the orchestrator and the
// functions in the store have by then.
func TestAnUpgradeAndARollBackInTheMiddleOfAJob(t *testing.T) {
	load(t)
	each(t, func(t *testing.T, d driver) {
		old := start(t, d, stubbornNamed("old"))
		old.restart()
		t.Cleanup(func() { old.must(old.upgrade(context.Background(), this)) }) // whatever comes between
		old.breakOff()
		old.become(next)
		old.settle(once)
		old.stay(quiet)
		old.restart()

		w := stubbornNamed("new")
		w.Build = &next
		young := start(t, d, w)
		young.restart()
		young.breakOff()
		young.become(this)
		young.settle(once)
		young.restart()
		old.stay(quiet)
		old.restart()
	})
}

func stubbornNamed(name string) workload {
	w := stubborn
	w.Name = name
	return w
}

func load(t *testing.T) {
	t.Helper()
	for image, program := range map[string]string{next.orchestrator: "orchestrator", next.agent: "agent", next.exec: "holdfast-exec"} {
		if err := shared.LoadProgram(t.Context(), image, shared.File("bin", "next", program)); err != nil {
			t.Fatal(err)
		}
	}
}

// become brings the orchestrator, the functions in the store and the images for new pods to another build, and returns when
// all of it runs.
func (g *group) become(b build) {
	g.Helper()
	g.must(g.upgrade(g.ctx, b))
	g.must(lab.Until(g.ctx, "one of its orchestrators leads", func(ctx context.Context) error {
		name, _, _ := strings.Cut(g.holder(), "_")
		var pod corev1.Pod
		err := g.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &pod)
		if err == nil && !pod.DeletionTimestamp.IsZero() {
			err = fmt.Errorf("%s is about to go", name)
		}
		return err
	}))
}

func (g *group) upgrade(ctx context.Context, b build) error {
	return release.Upgrade(ctx, values(g.Cluster.RedisAddress(), b))
}

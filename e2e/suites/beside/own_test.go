//go:build e2e

package beside

import (
	"context"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework/helm"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// Our own JobSet controller runs in place of the published one, with the chart holdfast-inplace installed too. Our controller's
// orchestrator leads all JobSets, and the orchestrator of holdfast-inplace leads all other groups.
func TestOurOwnController(t *testing.T) {
	startOurs(t)
	for name, test := range map[string]func(*testing.T){
		"Process": TestProcess, "Pod": TestPod, "Orchestrator": TestOrchestrator, "Budget": TestBudget, "Timeout": TestTimeout,
		"IndexedJob": TestIndexedJob,
	} {
		t.Run(name, test)
	}
	t.Run("Leaders", func(t *testing.T) {
		g, workers := start(t, nil)
		led, others := startJob(t, "beside-ours", 2, "10m")
		g.kill(first(workers))
		led.kill(first(others))
		g.awaitCharged(1)
		led.awaitCharged(1)
		js, err := g.JobSet(g.ctx, jobs, g.name)
		g.must(err)
		var list batchv1.JobList
		g.must(g.Client.List(g.ctx, &list, client.InNamespace(jobs)))
		leaders := map[string]string{js.Name: js.Annotations[v1alpha2.LedByKey]}
		for _, job := range list.Items {
			leaders[job.Name] = job.Annotations[v1alpha2.LedByKey]
		}
		for name, by := range leaders {
			if want := map[string]string{led.name: namespace + "/holdfast-inplace"}[name]; by != want {
				t.Errorf("%s is led by %q, not %q", name, by, want)
			}
		}
	})
}

// startOurs replaces the other projects' managers with the chart jobset-controller until the test ends.
func startOurs(t *testing.T) {
	t.Helper()
	must := newGroup(t, jobSet, "", 0).must
	ours := helm.Release{
		Name: "holdfast", Namespace: namespace + "-ours", Chart: shared.File("charts", "jobset-controller"), Kubeconfig: shared.Cluster.KubeconfigPath(), Adopt: true,
	}
	t.Cleanup(func() {
		leadsJobSets = namespace
		for _, err := range []error{
			ours.Uninstall(), shared.RemoveWebhooks(context.Background()), startManagers(context.Background(), shared),
		} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	must(shared.RemoveWebhooks(t.Context()))
	must(shared.Cluster.StopProgram(t.Context(), publishedProgram))
	must(ours.Install(t.Context(), helm.Values{
		"image": helm.ImageValues()["image"], "resources": small(), "nodeSelector": pool(), "valkey": enabled(store()), "injection": agents(),
		"orchestrator": enabled(helm.Values{
			"image": helm.ImageValues()["orchestrator"].(helm.Values)["image"], "resources": small(), "leaseDuration": "5s",
		}),
	}))
	leadsJobSets = ours.Namespace
}

func enabled(values helm.Values) helm.Values {
	values["enabled"] = true
	return values
}

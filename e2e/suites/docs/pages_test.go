//go:build e2e

package docs

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-project/holdfast/shared/testing/docs"
)

const (
	ofQuickStart = "jobset.sigs.k8s.io/jobset-name=quick-start"
	inPlace      = `{.metadata.annotations.alpha\.jobset\.sigs\.k8s\.io/inplace-restarts}`
)

// restarted returns commands that succeed once the JobSet of the quick start has restarted in place the given number of
// times.
func restarted(times string) []string {
	return []string{
		`test "$(kubectl get jobset quick-start -o jsonpath='` + inPlace + `')" = ` + times,
		`kubectl wait pod -l ` + ofQuickStart + ` --for=condition=Ready --timeout=5s`,
	}
}

// The reader's registry has a copy of the store's image, because the tests do not pull images.
const (
	copiedStore = "valkey.enabled=true,valkey.image.registry=registry.example/holdfast"
	valuesFile  = "/tmp/holdfast-docs-values.yaml"
	values      = `printf 'global:\n  imageRegistry: registry.example/holdfast\norchestrator:\n  enabled: true\nvalkey:\n  enabled: true\n` +
		`  image:\n    registry: registry.example/holdfast\n' > ` + valuesFile
)

// gone returns a command that deletes all objects of the given kinds in the reader's namespace.
func gone(kinds string) string {
	return "kubectl delete " + kinds + " --all --timeout=120s"
}

// tour is a sequence of pages from an installation to its removal. Later pages depend on earlier ones.
type tour struct {
	visits []visit
	after  []string
}

var tours = map[string]tour{
	"quick start": {
		visits: []visit{{page: "docs/quick-start.md", before: []string{
			"sed 's|busybox:|registry.example/holdfast/busybox:|' examples/quick-start.yaml > /tmp/holdfast-docs-quick-start.yaml",
		}, replace: map[string]string{
			"valkey.enabled=true": copiedStore, "examples/quick-start.yaml": "/tmp/holdfast-docs-quick-start.yaml",
		}, rules: map[string]rule{
			"make demo":                             {skip: "it brings up a cluster of its own"},
			"make images":                           {skip: "it needs a registry; make release-test pushes to one and pulls"},
			"kubectl apply -f examples/quick-start": {then: restarted("0")},
			"kubectl exec":                          {then: restarted("1")},
			"kubectl logs":                          {says: []string{"round 0", "round 1"}},
			"kubectl holdfast timeline":             {says: []string{"restart in place"}},
			"kubectl holdfast status quick-start":   {says: []string{"Training"}, endless: true}, // the page also runs it with --watch
			"kubectl delete --wait":                 {then: restarted("2")},
			"kubectl delete jobset":                 {},
			"kubectl apply -f config/jobset":        {},
		}}},
		after: []string{
			"kubectl delete -f config/jobset-controller.yaml --ignore-not-found --timeout=120s", "rm -f /tmp/holdfast-docs-quick-start.yaml",
		},
	},
	"JobSets": {
		visits: []visit{
			{page: "README.md", replace: map[string]string{"valkey.enabled=true": copiedStore}, rules: map[string]rule{
				"make":         {skip: "it runs this test"},
				"helm install": {then: []string{"kubectl -n holdfast-system wait pod --all --for=condition=Ready --timeout=5s"}},
			}},
			{page: "docs/tasks/launch-when-ready.md", rules: map[string]rule{"kubectl apply -n stages": {then: []string{
				"kubectl -n stages get jobs -l jobset.sigs.k8s.io/jobset-name=deepspeed-mpi -o name | grep initializer",
			}}}},
			{page: "docs/tasks/prepare-then-train.md", rules: map[string]rule{"kubectl apply -n stages": {then: []string{
				"kubectl -n stages get jobs -l jobset.sigs.k8s.io/jobset-name=fine-tune-llm -o name | grep initializer",
			}}}},
			{page: "docs/tasks/scale-up.md"},
			{page: "docs/jobset.md", rules: map[string]rule{"kubectl get jobset": {says: []string{"TERMINALSTATE", "RUNNING", "REASON", "scale-up"}}}},
			{page: "docs/tasks/restart-together.md", before: []string{gone("jobsets")}, rules: map[string]rule{
				"kubectl apply -f examples/one-annotation.yaml": {then: []string{
					"kubectl wait pod -l jobset.sigs.k8s.io/jobset-name=one-annotation --for=condition=Ready --timeout=5s", "kubectl holdfast status one-annotation",
				}},
				"kubectl logs": {skip: "it needs PyTorch: make e2e-torch runs the example"},
			}},
			{page: "docs/in-place-restart.md", replace: map[string]string{"NAME": "one-annotation"}, rules: map[string]rule{
				"kubectl get jobset":  {says: []string{"InPlaceInSync", "True"}},
				"kubectl logs POD -c": {skip: "suites/charts/jobset has a JobSet with the sidecar"},
			}},
			{page: "docs/webhook.md", before: []string{
				`sed 's/inplace-timeout: "60s"/inplace-timeout: "60"/' examples/one-annotation.yaml > /tmp/holdfast-docs-jobset.yaml`,
			}, replace: map[string]string{"jobset.yaml": "/tmp/holdfast-docs-jobset.yaml"}, rules: map[string]rule{
				"kubectl apply": {fails: true, says: []string{`Invalid value: "60": "60" is not a duration such as "60s" or "1m30s"`}},
			}},
			{page: "docs/observability.md", before: []string{
				"kubectl apply -f e2e/suites/docs/testdata/monitoring.yaml", values,
			}, replace: map[string]string{"values.yaml": valuesFile}, rules: map[string]rule{
				"helm upgrade": {then: []string{"kubectl -n holdfast-system get servicemonitors,prometheusrules -o name | grep holdfast"}},
			}},
		},
		after: []string{"rm -f /tmp/holdfast-docs-jobset.yaml " + valuesFile, gone("jobsets"), "kubectl delete -f examples/volumes/stages.yaml --timeout=120s", "helm uninstall holdfast --namespace holdfast-system --wait", removeWebhooks},
	},
	"installation": {
		visits: []visit{{page: "docs/installation.md", before: []string{
			values,
		}, replace: map[string]string{"values.yaml": valuesFile}, rules: map[string]rule{
			"make images":                                    {skip: "it needs a registry; make release-test pushes to one and pulls"},
			"go run github.com/google":                       {skip: "it needs a registry"},
			"helm install holdfast charts/holdfast ":         {skip: "charts/umbrella_test.go renders it; other pages install its parts"},
			"helm install holdfast charts/jobset-controller": {then: []string{"kubectl -n holdfast-system wait pod --all --for=condition=Ready --timeout=5s"}},
		}}},
		after: []string{"rm -f " + valuesFile, removeWebhooks},
	},
	"migration": {
		visits: []visit{{page: "docs/migration.md", before: []string{
			"kubectl create namespace jobset-system", "kubectl -n jobset-system create deployment jobset-controller-manager --image=localhost/pause:1",
			"kubectl create namespace appwrapper-system --dry-run=client -o yaml | kubectl apply -f -",
			"kubectl -n appwrapper-system create deployment appwrapper-controller-manager --image=localhost/pause:1",
		}}},
		after: []string{
			"helm uninstall appwrapper --namespace holdfast-system --wait", removeWebhooks, // the page has uninstalled holdfast
			"kubectl delete namespace jobset-system", "kubectl delete crd jobsets.jobset.x-k8s.io appwrappers.workload.codeflare.dev",
		},
	},
	"AppWrappers": {
		visits: []visit{
			{page: "docs/appwrapper.md", rules: map[string]rule{
				"helm install": {then: []string{"kubectl -n holdfast-system wait pod --all --for=condition=Ready --timeout=5s"}},
			}},
			{page: "docs/tasks/wrap.md", rules: map[string]rule{"kubectl holdfast status": {says: []string{"AppWrapper default/job-example"}}}},
		},
		after: []string{gone("appwrappers"), "helm uninstall appwrapper --namespace holdfast-system --wait"},
	},
	"ElasticJobs": {
		visits: []visit{
			{page: "docs/elastic.md", rules: map[string]rule{
				"helm install": {then: []string{"kubectl -n holdfast-system wait pod --all --for=condition=Ready --timeout=5s"}},
			}},
			{page: "docs/tasks/train-elastically.md", rules: map[string]rule{"kubectl get elasticjobs": {says: []string{"train"}}}},
		},
		after: []string{gone("elasticjobs"), "helm uninstall elastic --namespace holdfast-system --wait"},
	},
	"rescheduling": {
		visits: []visit{
			{page: "docs/rescheduler.md", before: []string{"kubectl create deployment my-app --image=localhost/pause:1"}, rules: map[string]rule{
				"helm install": {then: []string{"kubectl -n holdfast-system wait pod --all --for=condition=Ready --timeout=5s"}},
			}},
			{page: "docs/tasks/leave-a-full-node.md", replace: map[string]string{
				"why POD": "why $(kubectl get pods -l app=moved-example -o jsonpath='{.items[0].metadata.name}')",
			}, rules: map[string]rule{
				"kubectl apply": {then: []string{"kubectl wait pod -l app=moved-example --for=condition=Ready --timeout=5s"}},
			}},
			{page: "docs/tasks/leave-a-bad-node.md", before: []string{"kubectl annotate deployment my-app schedulingRetries-"}},
			{page: "docs/rescheduler-scheduler.md", before: []string{
				"helm uninstall rescheduler --namespace holdfast-system --wait", "kubectl run trainer-0 --image=localhost/pause:1",
			}, rules: map[string]rule{
				"kubectl apply": {
					first: []string{"helm uninstall rescheduler --namespace holdfast-system --wait"},
					then:  []string{"kubectl delete -f config/rescheduler.yaml -f config/rescheduler-scheduler.yaml --ignore-not-found --timeout=120s"},
				},
			}},
		},
		after: []string{gone("deployments,pods"), "helm uninstall rescheduler --namespace holdfast-system --wait"},
	},
}

// removeWebhooks deletes the webhook configurations that the JobSet chart keeps when it is uninstalled.
const removeWebhooks = "kubectl delete --ignore-not-found mutatingwebhookconfiguration/jobset-mutating-webhook-configuration " +
	"validatingwebhookconfiguration/jobset-validating-webhook-configuration"

// elsewhere lists the pages whose commands are run or checked elsewhere, and where.
var elsewhere = map[string]string{
	"CONTRIBUTING.md":          "its commands run this test",
	"docs/beside.md":           "e2e/suites/beside installs the chart, makes the groups that it leads fail and removes it; charts/commands_test.go parses the commands",
	"docs/exec-driver.md":      "a template, whose flags charts/flags_test.go checks",
	"docs/kubectl-holdfast.md": "its command has built bin/kubectl-holdfast",
	"docs/releasing.md":        "make release-test builds a release, and pushes it to a temporary registry",
	"docs/rendezvous.md":       "a template, whose flags charts/flags_test.go checks; e2e/suites/pytorch/rendezvous runs the server",
	"docs/testbed.md":          "e2e/suites/testbed does the same in Go; e2e/cmd/testbed/docs_test.go parses the commands",
}

// runbooks returns visits to the runbooks that belong to a tour. They come last. Their commands are read-only.
func runbooks(t *testing.T, tour string) []visit {
	t.Helper()
	pages, err := docs.Pages(shared.File())
	if err != nil {
		t.Fatal(err)
	}
	var all []visit
	for _, page := range pages {
		if strings.HasPrefix(page.Path, "docs/runbooks/") && len(page.Commands()) > 0 && tourOf(page) == tour {
			all = append(all, visit{page: page.Path})
		}
	}
	return all
}

func tourOf(runbook docs.Page) string {
	for _, command := range runbook.Commands() {
		switch {
		case strings.Contains(command.Text, "elasticjobs"):
			return "ElasticJobs"
		case strings.Contains(command.Text, "appwrappers"):
			return "AppWrappers"
		}
	}
	return "JobSets"
}

func TestPages(t *testing.T) {
	for _, name := range []string{"installation", "quick start", "JobSets", "migration", "AppWrappers", "ElasticJobs", "rescheduling"} {
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() {
				for _, command := range tours[name].after {
					if got := typed(t, command, rule{}); got.err != nil {
						t.Error(got.err)
					}
				}
			})
			for _, v := range slices.Concat(tours[name].visits, runbooks(t, name)) {
				if !t.Run(v.page, v.read) {
					return // the next pages depend on this one
				}
			}
		})
	}
}

// Every page is tested, either here or elsewhere.
func TestEveryPageIsTested(t *testing.T) {
	visited := map[string]bool{}
	for page := range elsewhere {
		visited[page] = true
	}
	for name, tour := range tours {
		for _, v := range slices.Concat(tour.visits, runbooks(t, name)) {
			visited[v.page] = true
		}
	}
	pages, err := docs.Pages(shared.File())
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if len(page.Commands()) > 0 && !visited[page.Path] {
			t.Errorf("%s has commands but is not visited", page.Path)
		}
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const project = "github.com/holdfast-project/holdfast/"

// rule forbids packages from depending on certain other packages, directly or indirectly.
type rule struct {
	packages []string // prefixes of import paths below the project
	except   []string // prefixes of packages that are exempt from the rule
	deps     []string // prefixes of import paths
	why      string
}

var rules = []rule{
	{
		packages: []string{"shared/"},
		except:   []string{"shared/bootstrap", "shared/testing"},
		deps: []string{
			"sigs.k8s.io/controller-runtime", "k8s.io/kubernetes/", "github.com/spf13/cobra", project + "shared/bootstrap", project + "shared/testing",
		},
		why: "the library is linked into every program",
	},
	{
		packages: []string{"shared/testing"},
		deps:     []string{"k8s.io/kubernetes/", project},
		why:      "the tests of every controller use it",
	},
	{
		packages: []string{"agent/", "jobset-controller/", "appwrapper-controller/", "elastic-operator/", "rescheduler/", "shared/bootstrap"},
		except:   []string{"rescheduler/scheduler/cmd/bench-throughput", "rescheduler/scheduler/internal/testing/"},
		deps:     []string{project + "shared/testing"},
		why:      "only tests and measurements use it",
	},
	{
		packages: []string{"shared/bootstrap"},
		deps:     []string{"k8s.io/kubernetes/"},
		why:      "every manager starts with it",
	},
	{
		packages: []string{"agent/"},
		deps:     []string{"sigs.k8s.io/controller-runtime", "k8s.io/client-go/", "k8s.io/kubernetes/", "github.com/spf13/cobra"},
		why:      "the agent runs in every worker pod",
	},
	{
		packages: []string{
			"agent/cmd/holdfast-exec", "agent/internal/supervisor", "agent/internal/process", "agent/internal/loop",
			"agent/internal/config", "agent/internal/store", "agent/internal/journal",
		},
		deps: []string{"google.golang.org/", "k8s.io/", "net/http$", "text/template$"},
		why:  "the supervisor runs in every worker's container: it must be small and must not access a container runtime",
	},
	{
		packages: []string{"rescheduler/"},
		except:   []string{"rescheduler/scheduler/"},
		deps:     []string{"k8s.io/kubernetes/"},
		why:      "only the scheduler is built from Kubernetes",
	},
	{
		packages: []string{
			"shared/restart", "shared/grace", "shared/recovering", "shared/coordination$", "shared/coordination/worker",
			"jobset-controller/internal/policy", "jobset-controller/internal/plan", "shared/coordination/epoch",
			"jobset-controller/internal/inplace", "shared/coordination/leader", "shared/coordination/rounds", "shared/coordination/group$", "shared/coordination/simulation",
			"shared/history",
			"shared/timeline", "shared/roster",
			"appwrapper-controller/internal/policy", "appwrapper-controller/internal/plan", "appwrapper-controller/internal/podset",
			"appwrapper-controller/internal/pods", "appwrapper-controller/internal/health", "appwrapper-controller/internal/settings",
			"appwrapper-controller/internal/signals", "rescheduler/api/", "rescheduler/internal/signals", "rescheduler/internal/policy",
			"rescheduler/internal/settings", "rescheduler/internal/placement",
			"elastic-operator/internal/indexes", "elastic-operator/internal/policy", "elastic-operator/internal/plan",
		},
		deps: []string{
			"sigs.k8s.io/controller-runtime", "k8s.io/client-go/", "github.com/redis/", "google.golang.org/grpc",
		},
		why: "these packages perform no I/O",
	},
	{
		packages: []string{
			"elastic-operator/internal/rendezvous/tcpstore", "elastic-operator/internal/rendezvous/state",
		},
		deps: []string{"k8s.io/", "sigs.k8s.io/", "net$", "net/http$"},
		why:  "these packages perform no I/O",
	},
	{
		packages: []string{"elastic-operator/cmd/rendezvous", "elastic-operator/internal/rendezvous/"},
		deps:     []string{"k8s.io/", "sigs.k8s.io/"},
		why:      "the rendezvous server must be small and must run without a cluster",
	},
}

// controllers lists the modules that may not import each other, except for api packages.
var controllers = []string{"jobset-controller/", "appwrapper-controller/", "elastic-operator/", "rescheduler/"}

type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func checkImports(root string) ([]string, error) {
	var breaches []string
	folders, err := modules(root)
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		packages, err := list(folder)
		if err != nil {
			return nil, err
		}
		for _, p := range packages {
			breaches = append(breaches, p.breaches()...)
		}
	}
	return breaches, nil
}

func list(dir string) ([]goPackage, error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Deps", "./...")
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), "GOWORK=off"), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the packages of %s: %w", filepath.Base(dir), err)
	}
	var packages []goPackage
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
}

func (p goPackage) breaches() []string {
	var found []string
	path := strings.TrimPrefix(p.ImportPath, project)
	for _, r := range rules {
		if !hasPrefix(path, r.packages) || hasPrefix(path, r.except) {
			continue
		}
		for _, dep := range p.Deps {
			if hasPrefix(dep, r.deps) {
				found = append(found, fmt.Sprintf("%s depends on %s: %s", path, dep, r.why))
			}
		}
	}
	return append(found, p.siblings(path)...)
}

func (p goPackage) siblings(path string) []string {
	var found []string
	for _, dep := range p.Deps {
		other := strings.TrimPrefix(dep, project)
		for _, c := range controllers {
			foreign := other != dep && strings.HasPrefix(other, c) && !strings.HasPrefix(other, c+"api/")
			if foreign && !strings.HasPrefix(path, c) && !strings.HasPrefix(path, "e2e/") {
				found = append(found, fmt.Sprintf("%s imports %s: a module uses only the api of another controller", path, other))
			}
		}
	}
	return found
}

// hasPrefix reports whether the path has one of the prefixes. A prefix that ends in $ must match the whole
// path.
func hasPrefix(path string, prefixes []string) bool {
	for _, prefix := range prefixes {
		if whole, isWhole := strings.CutSuffix(prefix, "$"); isWhole && path == whole {
			return true
		}
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

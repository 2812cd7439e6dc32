package testbed

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/e2e/testbed/binaries"
)

// Options describes how the cluster differs from the defaults. If Up is called with different options than before, it
// restarts only the affected components.
type Options struct {
	// Kubernetes is the minor version of the control plane and the kubelets, such as 1.34. The default is the value of
	// HOLDFAST_KUBERNETES, or otherwise the newest version.
	Kubernetes string `json:"kubernetes"`
	// Nodes is the number of real nodes, named node-1 and so on. The default is 1.
	Nodes int `json:"nodes"`
	// KubeletRestartPeriod is the maximum back-off between restarts of a container
	// (crashLoopBackOff.maxContainerRestartPeriod). Zero keeps the kubelet's default of 5 minutes.
	KubeletRestartPeriod time.Duration `json:"kubeletRestartPeriod"`
	// EventedPLEG makes the kubelet use containerd's events.
	EventedPLEG bool `json:"eventedPLEG"`
	// KubeProxy adds the service proxy. Without it, pods can use only headless services and the API server's service.
	// Webhooks work in any case.
	KubeProxy bool `json:"kubeProxy"`
	// Args are additional arguments by component, such as "kube-controller-manager":
	// {"--node-monitor-grace-period=24h"}. "kubelet" stands for all kubelets.
	Args map[string][]string `json:"args,omitempty"`
}

// kubernetesVariable selects the version for a whole test run.
const kubernetesVariable = "HOLDFAST_KUBERNETES"

func (o Options) defaulted() Options {
	if o.Nodes == 0 {
		o.Nodes = 1
	}
	if o.Kubernetes == "" {
		o.Kubernetes = cmp.Or(os.Getenv(kubernetesVariable), binaries.DefaultKubernetes)
	}
	return o
}

// maxNodes is the largest number of nodes for which addresses are available.
const maxNodes = 254

func (o Options) validate() error {
	if minors := binaries.KubernetesMinors(); !slices.Contains(minors, o.Kubernetes) {
		return fmt.Errorf("kubernetes: %q is not one of %s", o.Kubernetes, strings.Join(minors, ", "))
	}
	if o.Nodes < 1 || o.Nodes > maxNodes {
		return fmt.Errorf("nodes: %d is not between 1 and %d", o.Nodes, maxNodes)
	}
	if p := o.KubeletRestartPeriod; p != 0 && (p < time.Second || p > 300*time.Second) {
		return fmt.Errorf("kubelet restart period: %s is not between 1s and 5m, the kubelet's bounds", p)
	}
	return nil
}

func (o Options) save(file string) error {
	raw, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return writeFile(file, string(raw))
}

func loadOptions(file string) (Options, error) {
	var options Options
	raw, err := os.ReadFile(file)
	if err != nil {
		return options, err
	}
	return options, json.Unmarshal(raw, &options)
}

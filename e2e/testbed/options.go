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

// Options say how the cluster differs from the defaults. A call of Up with other
// options than the last restarts just the components they concern.
type Options struct {
	// Kubernetes is the minor version of the control plane and the kubelets, such as
	// 1.34. If empty it is what HOLDFAST_KUBERNETES says, else the newest.
	Kubernetes string `json:"kubernetes"`
	// Nodes is the number of real nodes, node-1 and on; 1 if zero.
	Nodes int `json:"nodes"`
	// KubeletRestartPeriod is the ceiling of the back-off between restarts of a
	// container (crashLoopBackOff.maxContainerRestartPeriod); zero keeps the
	// kubelet's 5 minutes.
	KubeletRestartPeriod time.Duration `json:"kubeletRestartPeriod"`
	// EventedPLEG lets the kubelet follow containerd's events.
	EventedPLEG bool `json:"eventedPLEG"`
	// KubeProxy adds the service proxy. Without it only headless services and
	// the API server's own work for pods; webhooks work anyway.
	KubeProxy bool `json:"kubeProxy"`
	// Args are further arguments by component, such as
	// "kube-controller-manager": {"--node-monitor-grace-period=24h"}. All kubelets
	// are "kubelet".
	Args map[string][]string `json:"args,omitempty"`
}

// kubernetesVariable lets a whole test suite run on another version.
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

// maxNodes is what the addressing has room for.
const maxNodes = 254

func (o Options) validate() error {
	if minors := binaries.KubernetesMinors(); !slices.Contains(minors, o.Kubernetes) {
		return fmt.Errorf("kubernetes: %q is none of %s", o.Kubernetes, strings.Join(minors, ", "))
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

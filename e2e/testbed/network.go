package testbed

import (
	"fmt"

	"github.com/holdfast-project/holdfast/e2e/testbed/host"
)

// The addresses are fixed, because certificates, configurations and tests contain them.
const (
	hostAddress    = "10.87.0.1"
	apiPort        = 6443
	serviceRange   = "10.96.0.0/16"
	apiService     = "10.96.0.1"
	podRange       = "10.88.0.0/16"
	clusterDomain  = "cluster.local"
	bridgePrefix   = "hf-"
	redirectTable  = "holdfast_testbed"
	apiServicePort = 443
)

// apiBridge returns a bridge without ports. It gives the control plane an address that is reachable from pods, but not
// from outside.
func apiBridge() host.Bridge {
	return host.Bridge{Name: bridgePrefix + "api", MAC: "0a:58:0a:57:00:01", Address: hostAddress + "/24"}
}

// apiRedirect returns a redirect that lets in-cluster clients reach the API server's service without a service proxy.
func apiRedirect() host.Redirect {
	return host.Redirect{Table: redirectTable, From: apiService, FromPort: apiServicePort, To: hostAddress, ToPort: apiPort}
}

func apiURL() string { return fmt.Sprintf("https://%s:%d", hostAddress, apiPort) }

// changedSysctls lists the settings that the CNI bridge plugin, the kubelet and the service proxy change.
var changedSysctls = []string{
	"net.ipv4.ip_forward",
	"net.bridge.bridge-nf-call-iptables",
	"vm.overcommit_memory",
	"vm.panic_on_oom",
	"kernel.panic",
	"kernel.panic_on_oops",
	"kernel.keys.root_maxkeys",
	"kernel.keys.root_maxbytes",
}

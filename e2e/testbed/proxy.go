package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/holdfast-project/holdfast/e2e/testbed/host"
	"github.com/holdfast-project/holdfast/e2e/testbed/process"
)

const proxyHealth = "127.0.0.1:10256"

// kubeProxy returns one proxy for all nodes, because they share the host's network namespace.
func (u *up) kubeProxy() (component, error) {
	config, err := u.config(kubeProxy+".json", map[string]any{
		"apiVersion":         "kubeproxy.config.k8s.io/v1alpha1",
		"kind":               "KubeProxyConfiguration",
		"clientConnection":   map[string]any{"kubeconfig": u.layout.componentKubeconfig(kubeProxy)},
		"hostnameOverride":   u.nodes[0].name(),
		"mode":               "nftables",
		"clusterCIDR":        podRange,
		"detectLocalMode":    "ClusterCIDR",
		"nodePortAddresses":  []string{podRange},
		"healthzBindAddress": proxyHealth,
		"metricsBindAddress": "127.0.0.1:10249",
		// Leave the limit on tracked connections to the host.
		"conntrack": map[string]any{"maxPerCore": 0},
	})
	if err != nil {
		return component{}, err
	}
	return component{
		spec: u.spec(process.Spec{Name: kubeProxy, Dir: u.layout.state(kubeProxy), Inputs: []string{config.content}, Command: []string{
			u.kubernetes(kubeProxy), "--config=" + config.path,
		}}),
		ready: func(ctx context.Context) error {
			// The proxy reports that it is healthy before it has written its first rules.
			if !host.HasTable(ctx, "ip", kubeProxy) {
				return errors.New("the proxy has no rules yet")
			}
			return answersOK(plainClient, "http://"+proxyHealth+"/healthz")(ctx)
		},
	}, nil
}

// ensureRedirect makes the API server's service reachable for pods, unless a proxy does this.
func (u *up) ensureRedirect(ctx context.Context) error {
	if u.options.KubeProxy {
		return nil
	}
	if !host.HasTable(ctx, "ip", redirectTable) {
		if err := apiRedirect().Ensure(ctx); err != nil {
			return err
		}
	}
	if !u.layout.hadProxy() {
		return nil
	}
	if err := u.table.Get(kubeProxy).ID.Stop(ctx, stopTimeout); err != nil {
		return fmt.Errorf("stopping %s: %w", kubeProxy, err)
	}
	if err := removeProxyTables(ctx); err != nil {
		return err
	}
	return u.table.Forget(kubeProxy)
}

// dropRedirect removes the redirect once the proxy has its rules.
func (u *up) dropRedirect(ctx context.Context) error {
	if !u.options.KubeProxy {
		return nil
	}
	// If this setting is 0, traffic between pods on the same bridge bypasses the rules. A host without the module does
	// not have the setting and does not need it.
	_ = host.SetSysctl("net.bridge.bridge-nf-call-iptables", "1")
	return apiRedirect().Remove(ctx)
}

// hadProxy checks whether a start of the proxy was recorded, successful or not. The names of the tables are not
// sufficient, because others may use them too.
func (l Layout) hadProxy() bool {
	_, err := os.Stat(filepath.Join(l.processDir(), kubeProxy+".json"))
	return err == nil
}

func removeProxyTables(ctx context.Context) error {
	for _, family := range []string{"ip", "ip6"} {
		if err := host.RemoveTable(ctx, family, kubeProxy); err != nil {
			return err
		}
	}
	return nil
}

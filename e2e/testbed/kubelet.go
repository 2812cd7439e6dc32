package testbed

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/holdfast-project/holdfast/e2e/testbed/process"
)

const kubeletHealthPort = 10248

func (u *up) kubelet(n node) (component, error) {
	resolvConf := n.dir("config", "resolv.conf")
	// Keep the host's search list and name servers out of the pods.
	if err := writeFile(resolvConf, ""); err != nil {
		return component{}, err
	}
	config, err := u.config(n.kubelet()+".json", kubeletConfig(n, u.options, resolvConf))
	if err != nil {
		return component{}, err
	}
	command := append([]string{
		u.kubernetes("kubelet"),
		"--config=" + config.path,
		"--kubeconfig=" + u.layout.componentKubeconfig(n.name()),
		"--hostname-override=" + n.name(),
		"--node-ip=" + n.address(),
	}, u.options.Args["kubelet"]...)
	return component{
		spec: process.Spec{
			Name: n.kubelet(), Dir: n.dir("kubelet"), Log: u.layout.Log(n.kubelet()), Group: n.systemGroup(),
			Command: u.inside(n, command...),
			Inputs:  []string{config.content, u.stamps["kubelet"]},
		},
		ready: func(ctx context.Context) error {
			url := fmt.Sprintf("http://%s:%d/healthz", n.address(), kubeletHealthPort)
			return answersOK(plainClient, url)(ctx)
		},
	}, nil
}

// kubeletConfig changes the kubelet's defaults only where this host, the lack of a registry or an option requires
// it, because the tests should measure the kubelet as users run it.
func kubeletConfig(n node, options Options, resolvConf string) map[string]any {
	store := n.layout.store()
	config := map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1",
		"kind":       "KubeletConfiguration",

		"address":            n.address(),
		"healthzBindAddress": n.address(),
		"healthzPort":        kubeletHealthPort,
		"tlsCertFile":        store.Certificate(n.name() + "-server"),
		"tlsPrivateKeyFile":  store.Key(n.name() + "-server"),
		"authentication": map[string]any{
			"anonymous": map[string]any{"enabled": false},
			"webhook":   map[string]any{"enabled": true},
			"x509":      map[string]any{"clientCAFile": store.Certificate(authority)},
		},
		"authorization": map[string]any{"mode": "Webhook"},

		"containerRuntimeEndpoint": "unix://" + filepath.Join(runtimeInside, "containerd.sock"),
		"volumePluginDir":          "/var/lib/kubelet/volumeplugins",
		"resolvConf":               resolvConf,
		"clusterDNS":               []string{hostAddress},
		"clusterDomain":            clusterDomain,

		"cgroupDriver":           "cgroupfs",
		"cgroupRoot":             "/" + string(n.podsGroup()),
		"cgroupsPerQOS":          true,
		"enforceNodeAllocatable": []string{},
		"failCgroupV1":           false,
		"failSwapOn":             false,
		// A lower score would require CAP_SYS_RESOURCE.
		"oomScoreAdj": 0,
		// The chains would remain after the testbed is down, and nothing here needs them.
		"makeIPTablesUtilChains": false,

		// The size of the subnet, minus the bridge and some addresses that are still being released.
		"maxPods":             240,
		"serializeImagePulls": false,
		// A garbage-collected image could not be pulled again.
		"imageGCHighThresholdPercent": 100,
		"evictionHard": map[string]any{
			"memory.available":  "100Mi",
			"nodefs.available":  "0%",
			"nodefs.inodesFree": "0%",
			"imagefs.available": "0%",
		},
	}
	gates := map[string]any{}
	if options.KubeletRestartPeriod > 0 {
		config["crashLoopBackOff"] = map[string]any{"maxContainerRestartPeriod": options.KubeletRestartPeriod.String()}
		if options.Kubernetes == "1.33" || options.Kubernetes == "1.34" { // alpha in these versions
			gates["KubeletCrashLoopBackOffMax"] = true
		}
	}
	if options.EventedPLEG {
		gates["EventedPLEG"] = true
	}
	if len(gates) > 0 {
		config["featureGates"] = gates
	}
	return config
}

package testbed

import (
	"encoding/json"
	"fmt"

	"github.com/holdfast-project/holdfast/e2e/framework/audit"
	"github.com/holdfast-project/holdfast/e2e/testbed/process"
)

// The defaults are 20 and 50 requests per second. With those, a test with thousands of pods would measure the
// throttling.
const (
	clientQPS   = 2000
	clientBurst = 4000
)

func (u *up) apiServer() (component, error) {
	pki := u.layout.store()
	policy, err := u.config("audit.json", audit.Policy())
	if err != nil {
		return component{}, err
	}
	return component{
		spec: u.spec(process.Spec{Name: apiServer, Dir: u.layout.state(apiServer), Inputs: []string{policy.content}, Command: []string{
			u.kubernetes(apiServer),
			"--etcd-servers=" + etcdURL,
			"--bind-address=" + hostAddress,
			"--advertise-address=" + hostAddress,
			fmt.Sprintf("--secure-port=%d", apiPort),
			"--service-cluster-ip-range=" + serviceRange,
			"--tls-cert-file=" + pki.Certificate(serverCert),
			"--tls-private-key-file=" + pki.Key(serverCert),
			"--client-ca-file=" + pki.Certificate(authority),
			"--kubelet-certificate-authority=" + pki.Certificate(authority),
			"--kubelet-client-certificate=" + pki.Certificate(kubeletClient),
			"--kubelet-client-key=" + pki.Key(kubeletClient),
			// Node names do not resolve here.
			"--kubelet-preferred-address-types=InternalIP",
			"--service-account-issuer=https://kubernetes.default.svc." + clusterDomain,
			"--service-account-key-file=" + pki.PublicKey(serviceAccounts),
			"--service-account-signing-key-file=" + pki.Key(serviceAccounts),
			"--authorization-mode=Node,RBAC",
			"--enable-admission-plugins=NodeRestriction",
			// Webhooks behind a Service are called at the IP address of their pod, so they work without a service
			// proxy.
			"--enable-aggregator-routing=true",
			"--allow-privileged=true",
			"--audit-policy-file=" + policy.path,
			"--audit-log-path=" + u.layout.auditLog(),
		}}),
		ready: answersOK(u.layout.adminClient, apiURL()+"/readyz"),
	}, nil
}

func (u *up) controllerManager() component {
	pki, config := u.layout.store(), u.layout.componentKubeconfig(controllerManager)
	return component{
		spec: u.spec(process.Spec{Name: controllerManager, Dir: u.layout.state(controllerManager), Command: []string{
			u.kubernetes(controllerManager),
			"--kubeconfig=" + config,
			"--authentication-kubeconfig=" + config,
			"--authorization-kubeconfig=" + config,
			"--bind-address=127.0.0.1",
			"--tls-cert-file=" + pki.Certificate(loopbackCert),
			"--tls-private-key-file=" + pki.Key(loopbackCert),
			"--leader-elect=false",
			// The default is below /usr.
			"--flex-volume-plugin-dir=" + u.layout.state(controllerManager, "volumeplugins"),
			"--use-service-account-credentials=true",
			"--service-account-private-key-file=" + pki.Key(serviceAccounts),
			"--root-ca-file=" + pki.Certificate(authority),
			"--cluster-signing-cert-file=" + pki.Certificate(authority),
			"--cluster-signing-key-file=" + pki.Key(authority),
			fmt.Sprintf("--kube-api-qps=%d", clientQPS),
			fmt.Sprintf("--kube-api-burst=%d", clientBurst),
			"--concurrent-gc-syncs=100",
			"--concurrent-job-syncs=20",
		}}),
		ready: answersOK(u.layout.adminClient, "https://127.0.0.1:10257/healthz"),
	}
}

func (u *up) scheduler() (component, error) {
	pki, kubeconfig := u.layout.store(), u.layout.componentKubeconfig(scheduler)
	config, err := u.config(scheduler+".json", map[string]any{
		"apiVersion":       "kubescheduler.config.k8s.io/v1",
		"kind":             "KubeSchedulerConfiguration",
		"leaderElection":   map[string]any{"leaderElect": false},
		"clientConnection": map[string]any{"kubeconfig": kubeconfig, "qps": clientQPS, "burst": clientBurst},
	})
	if err != nil {
		return component{}, err
	}
	return component{
		spec: u.spec(process.Spec{Name: scheduler, Dir: u.layout.state(scheduler), Inputs: []string{config.content}, Command: []string{
			u.kubernetes(scheduler),
			"--config=" + config.path,
			"--authentication-kubeconfig=" + kubeconfig,
			"--authorization-kubeconfig=" + kubeconfig,
			"--bind-address=127.0.0.1",
			"--tls-cert-file=" + pki.Certificate(loopbackCert),
			"--tls-private-key-file=" + pki.Key(loopbackCert),
		}}),
		ready: answersOK(u.layout.adminClient, "https://127.0.0.1:10259/healthz"),
	}, nil
}

// file is a configuration file. Components restart when its content changes.
type file struct{ path, content string }

// config writes a component's configuration as JSON, which is also valid YAML.
func (u *up) config(name string, value map[string]any) (file, error) {
	raw, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return file{}, fmt.Errorf("rendering %s: %w", name, err)
	}
	f := file{path: u.layout.state("config", name), content: string(raw)}
	return f, writeFile(f.path, f.content)
}

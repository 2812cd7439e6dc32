package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
	"github.com/holdfast-project/holdfast/e2e/framework"
)

// cluster is a separate control plane with the rescheduler.
type cluster struct {
	config     *rest.Config
	client     *kubernetes.Clientset
	env        *envtest.Environment
	webhooks   envtest.WebhookInstallOptions
	programs   []*exec.Cmd
	simulation *kubelet.Nodes
	folder     string
	bad        *badNode
}

// start starts everything. It returns what has been started so far, even with an error.
func start(ctx context.Context, o options) (*cluster, error) {
	c := &cluster{env: &envtest.Environment{}}
	c.env.ControlPlane.GetAPIServer().Path = filepath.Join(o.binaries, "kube-apiserver")
	etcd, err := exec.LookPath("etcd")
	if err != nil {
		return nil, fmt.Errorf("looking for etcd: %w", err)
	}
	c.env.ControlPlane.Etcd = &envtest.Etcd{Path: etcd}
	if c.config, err = c.env.Start(); err != nil {
		return c, fmt.Errorf("starting the control plane: %w", err)
	}
	c.config.QPS = -1
	if c.client, err = kubernetes.NewForConfig(c.config); err != nil {
		return c, err
	}
	if c.folder, err = os.MkdirTemp("", "bench-rescheduler-"); err != nil {
		return c, err
	}
	if err := os.WriteFile(c.kubeconfig(), c.env.KubeConfig, 0o600); err != nil {
		return c, err
	}
	if err := c.startPrograms(o); err != nil {
		return c, err
	}
	if c.simulation, err = kubelet.Start(ctx, c.config, kubelet.Options{Name: "good", Nodes: o.nodes, MaxPods: 1000}); err != nil {
		return c, err
	}
	if c.bad, err = playBadNode(ctx, c.client); err != nil {
		return c, err
	}
	return c, c.startManager(ctx, o)
}

func (c *cluster) kubeconfig() string { return filepath.Join(c.folder, "kubeconfig") }

// startPrograms starts the workload controllers, the controller that removes the taint from new nodes, and both
// schedulers.
func (c *cluster) startPrograms(o options) error {
	config := filepath.Join(c.folder, "scheduler.yaml")
	content, err := os.ReadFile(filepath.Join(o.root, "charts", "rescheduler", "files", "scheduler", "config.yaml"))
	if err != nil {
		return err
	}
	content = append(content, []byte("clientConnection: {kubeconfig: "+c.kubeconfig()+", qps: 500, burst: 500}\n")...)
	content = []byte(strings.ReplaceAll(string(content), "leaderElect: true", "leaderElect: false"))
	if err := os.WriteFile(config, content, 0o600); err != nil {
		return err
	}
	for _, command := range [][]string{
		{filepath.Join(o.binaries, "kube-controller-manager"), "--kubeconfig=" + c.kubeconfig(), "--leader-elect=false", "--secure-port=0",
			"--controllers=deployment-controller,replicaset-controller,node-lifecycle-controller", "--node-monitor-grace-period=24h",
			"--kube-api-qps=500", "--kube-api-burst=500", "--concurrent-replicaset-syncs=20"},
		{filepath.Join(o.binaries, "kube-scheduler"), "--kubeconfig=" + c.kubeconfig(), "--leader-elect=false", "--secure-port=0",
			"--kube-api-qps=500", "--kube-api-burst=500"},
		{filepath.Join(o.root, "bin", "rescheduler-scheduler"), "--config=" + config, "--secure-port=0"},
	} {
		if err := c.run(command); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) run(command []string) error {
	log, err := os.Create(filepath.Join(c.folder, filepath.Base(command[0])+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	program := exec.Command(command[0], command[1:]...)
	program.Stdout, program.Stderr = log, log
	if err := program.Start(); err != nil {
		return err
	}
	c.programs = append(c.programs, program)
	return nil
}

// startManager starts the rescheduler with its webhook, which the API server calls by URL.
func (c *cluster) startManager(ctx context.Context, o options) error {
	if err := c.webhooks.PrepWithoutInstalling(); err != nil {
		return err
	}
	w := &c.webhooks
	address := net.JoinHostPort(w.LocalServingHost, fmt.Sprint(w.LocalServingPort))
	content, err := os.ReadFile(filepath.Join(o.root, "charts", "rescheduler", "files", "webhook", "manifests.yaml"))
	if err != nil {
		return err
	}
	var configuration admissionv1.MutatingWebhookConfiguration
	if err := yaml.UnmarshalStrict([]byte(strings.TrimPrefix(string(content), "---\n")), &configuration); err != nil {
		return err
	}
	hook := &configuration.Webhooks[0]
	hook.ClientConfig = admissionv1.WebhookClientConfig{URL: ptr.To("https://" + address + *hook.ClientConfig.Service.Path), CABundle: w.LocalServingCAData}
	hook.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"holdfast.dev/rescheduling": "enabled"}}
	if _, err := c.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(ctx, &configuration, metav1.CreateOptions{}); err != nil {
		return err
	}
	health, err := freeAddress()
	if err != nil {
		return err
	}
	err = c.run([]string{
		filepath.Join(o.root, "bin", "rescheduler-manager"), "--kubeconfig=" + c.kubeconfig(), "--metrics-bind-address=0",
		"--health-probe-bind-address=" + health, "--webhooks", fmt.Sprintf("--webhook-port=%d", w.LocalServingPort), "--webhook-cert-dir=" + w.LocalServingCertDir,
	})
	if err != nil {
		return err
	}
	return until(ctx, "the rescheduler is ready", func() bool {
		response, err := http.Get("http://" + health + "/readyz")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
}

// manager returns the PID of the rescheduler, which is the last program to be started.
func (c *cluster) manager() int { return c.programs[len(c.programs)-1].Process.Pid }

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

const patience = 3 * time.Minute

func until(ctx context.Context, what string, check func() bool) error {
	return framework.UntilEvery(ctx, what, 20*time.Millisecond, patience, func(context.Context) error {
		if !check() {
			return errors.New("timed out")
		}
		return nil
	})
}

// stop stops everything that was started, in reverse order.
func (c *cluster) stop() {
	if c.bad != nil {
		c.bad.stop()
	}
	if c.simulation != nil {
		c.simulation.Close()
	}
	for _, program := range c.programs {
		_ = program.Process.Kill()
		_ = program.Wait() // fails, because the program was killed
	}
	_ = c.webhooks.Cleanup()
	if err := c.env.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "bench-rescheduler: stopping the control plane:", err)
	}
	_ = os.RemoveAll(c.folder)
}

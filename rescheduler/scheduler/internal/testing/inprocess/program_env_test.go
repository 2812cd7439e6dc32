//go:build envtest

package inprocess

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
)

// The program runs with the files in its directory and only the permissions that they grant: it becomes the leader, schedules, removes an
// annotation and serves its metrics.
func TestProgramRunsWithShippedConfig(t *testing.T) {
	w := newWorld(t)
	w.apply("rbac.yaml")
	w.node("bad", "4", "eligible")
	w.node("other", "4")
	address := w.program("config.yaml")
	w.pod("returns", staysAwayFrom("bad"), onlyOn("eligible"), bySecond)
	w.lands("returns", "bad")
	w.loses("returns", memory.HostsAnnotation)
	w.until("the metrics count the relaxed pod", func(ctx context.Context) (bool, error) {
		return bytes.Contains(w.metrics(ctx, address), []byte(`holdfast_pod_rescheduling_pods_relaxed_total{reason="NothingElseFits"} 1`)), nil
	})
	lease, err := w.CoordinationV1().Leases("kube-system").Get(t.Context(), "holdfast-scheduler", metav1.GetOptions{})
	w.ok(err)
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		t.Error("the Lease has no holder")
	}
}

// program builds the program and runs it until the test ends. It returns the address that serves health checks and metrics.
func (w *world) program(file string) (address string) {
	w.Helper()
	program, address := filepath.Join(w.TempDir(), "scheduler"), freeAddress(w)
	build := exec.CommandContext(w.Context(), "go", "build", "-o", program, "../../../cmd/scheduler")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as in the release
	if out, err := build.CombinedOutput(); err != nil {
		w.Fatalf("building: %v\n%s", err, out)
	}
	_, port, err := net.SplitHostPort(address)
	w.ok(err)
	kubeconfig := w.kubeconfig("system:serviceaccount:kube-system:holdfast-scheduler")
	run := exec.Command(program, "--config="+w.withKubeconfig(file, kubeconfig), "--bind-address=127.0.0.1", "--secure-port="+port,
		"--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig)
	output := &bytes.Buffer{}
	run.Stdout, run.Stderr = output, output
	w.ok(run.Start())
	w.Cleanup(func() {
		w.ok(run.Process.Signal(syscall.SIGTERM))
		if err := run.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
			w.Error(err)
		}
		if w.Failed() {
			w.Logf("output of the scheduler:\n%s", output)
		}
	})
	return address
}

func freeAddress(w *world) string {
	w.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	w.ok(err)
	defer listener.Close()
	return listener.Addr().String()
}

// kubeconfig returns a kubeconfig in which the administrator impersonates a user.
func (w *world) kubeconfig(user string) string {
	w.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: apiServer.Host, CertificateAuthorityData: apiServer.CAData}
	config.AuthInfos["test"] = &clientcmdapi.AuthInfo{ClientCertificateData: apiServer.CertData, ClientKeyData: apiServer.KeyData, Impersonate: user}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	config.CurrentContext = "test"
	file := filepath.Join(w.TempDir(), "kubeconfig")
	w.ok(clientcmd.WriteToFile(*config, file))
	return file
}

// withKubeconfig returns a configuration for a program outside the cluster.
func (w *world) withKubeconfig(file, kubeconfig string) string {
	w.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "..", "charts", "rescheduler", "files", "scheduler", file))
	w.ok(err)
	copied := filepath.Join(w.TempDir(), file)
	w.ok(os.WriteFile(copied, append(content, fmt.Sprintf("clientConnection: {kubeconfig: %s}\n", kubeconfig)...), 0o600))
	return copied
}

// metrics reads the metrics as the administrator, who has permission to read them.
func (w *world) metrics(ctx context.Context, address string) []byte {
	certificate, err := tls.X509KeyPair(apiServer.CertData, apiServer.KeyData)
	w.ok(err)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
		Certificates: []tls.Certificate{certificate}, InsecureSkipVerify: true, // its certificate is self-signed
	}}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/metrics", nil)
	w.ok(err)
	response, err := client.Do(request)
	if err != nil {
		return nil // it is not ready yet
	}
	defer response.Body.Close()
	body := &bytes.Buffer{}
	_, _ = body.ReadFrom(response.Body)
	return body.Bytes()
}

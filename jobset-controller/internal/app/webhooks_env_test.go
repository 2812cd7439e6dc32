//go:build envtest

package app

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/testing/apiserver"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

const secretName = "jobset-webhook-server-cert"

// The test follows the certificate: the manager writes the Secret and copies it to its folder, and the API server
// trusts it and calls the webhook.
func TestWebhooksFromNoCertificateToARejection(t *testing.T) {
	cluster, k8s := startCluster(t)
	health, folder := sandbox.FreeAddress(t), filepath.Join(t.TempDir(), "certificates")
	if err := os.WriteFile(folder, nil, 0o600); err != nil { // a file in place of the folder
		t.Fatal(err)
	}
	port := portOf(t, sandbox.FreeAddress(t))
	apiserver.InstallWebhooks(t, k8s, "../../../charts/jobset-controller/files/webhook/manifests.yaml", "https://localhost:"+port, secretName)
	file := write(t, `
apiVersion: config.jobset.x-k8s.io/v1alpha1
kind: Configuration
webhook: {host: localhost, port: `+port+`, certDir: `+folder+`}
`)
	t.Setenv("POD_NAMESPACE", "default")
	stop := start(t, cluster, parse(t, "--config="+file, "--metrics-bind-address=0", "--health-probe-bind-address="+health))

	var secret corev1.Secret
	eventually(t, "the Secret stays empty", func() bool {
		key := client.ObjectKey{Namespace: "default", Name: secretName}
		return k8s.Get(t.Context(), key, &secret) == nil && len(secret.Data["tls.crt"]) > 0
	})
	eventually(t, "healthz is not OK", func() bool { return isOK("http://" + health + "/healthz") })
	if isOK("http://" + health + "/readyz") {
		t.Error("ready before the certificate is in its folder")
	}
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	eventually(t, "readyz is not OK", func() bool { return isOK("http://" + health + "/readyz") })

	// The API server takes a moment to read the CA that was written to the configuration.
	var err error
	eventually(t, "nothing is refused", func() bool {
		err = k8s.Create(t.Context(), MakeJobSet("a").Workers(1).Namespace("default").Annotation(v1alpha2.InPlaceTimeoutKey, "60").Obj())
		return apierrors.IsInvalid(err)
	})
	wanted := `metadata.annotations[` + v1alpha2.InPlaceTimeoutKey + `]: Invalid value: "60"`
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), wanted) || !strings.Contains(err.Error(), "vjobset.kb.io") {
		t.Errorf("got %v", err)
	}
	if err := k8s.Create(t.Context(), MakeJobSet("b").Workers(1).Namespace("default").Annotation(v1alpha2.InPlaceTimeoutKey, "60s").Obj()); err != nil {
		t.Error(err)
	}
	podsArePlaced(t, k8s, stop)
}

func TestWebhooksWithoutTheirSecret(t *testing.T) {
	cluster, _ := startCluster(t)
	t.Setenv("POD_NAMESPACE", "default")
	o := parse(t, "--webhooks", "--metrics-bind-address=0", "--health-probe-bind-address=0")
	if err := o.Run(t.Context(), cluster); err == nil || !strings.Contains(err.Error(), "no Secret default/"+secretName+" for the webhook certificate") {
		t.Errorf("got %v", err)
	}
}

// startCluster starts an API server with the CustomResourceDefinition of JobSets. It stops when the test ends.
func startCluster(t *testing.T) (*rest.Config, client.Client) {
	t.Helper()
	return apiserver.ForTest(t, NewScheme(), "../../../charts/jobset-controller/files/crds")
}

// start runs a manager until stop is called or the test ends. The manager must exit without an error.
func start(t *testing.T, cluster *rest.Config, o *Options) (stop func()) {
	t.Helper()
	o.Registry = prometheus.NewRegistry()
	return sandbox.Run(t, func(ctx context.Context) error { return o.Run(ctx, cluster) })
}

func portOf(t *testing.T, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func isOK(url string) bool {
	response, err := http.Get(url)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

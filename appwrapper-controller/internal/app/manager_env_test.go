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
	"time"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/testing/apiserver"
	. "github.com/holdfast-project/holdfast/appwrapper-controller/internal/testing/wrappers"
)

// The whole manager, with its webhooks and their certificates: a bad AppWrapper is refused, a good one gets its labels and its Job.
func TestTheManagerFromItsCertificatesToAJob(t *testing.T) {
	cluster, k8s := startCluster(t)
	t.Setenv("POD_NAMESPACE", "default")
	health, webhooks := freeAddress(t), freeAddress(t)
	_, port, _ := net.SplitHostPort(webhooks)
	install(t, k8s, "https://localhost:"+port)
	o, err := complete(t, "webhook: {host: localhost, port: "+port+", certDir: "+filepath.Join(t.TempDir(), "certificates")+"}\nappwrapper: {defaultQueueName: default}\n",
		"--webhooks", "--metrics-bind-address=0", "--health-probe-bind-address="+health)
	if err != nil {
		t.Fatal(err)
	}
	run(t, cluster, o)
	eventually(t, "readyz is not OK", func() bool {
		response, err := http.Get("http://" + health + "/readyz")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	// The API server takes a moment to learn the authority that was written into the configurations.
	eventually(t, "nothing is refused", func() bool {
		err = k8s.Create(t.Context(), MakeAppWrapper("bad").Service("s").Namespace("default").Obj())
		return err != nil && strings.Contains(err.Error(), "components contains no podspecs")
	})
	aw := MakeAppWrapper("a").Job("j", 1).Namespace("default").Obj()
	eventually(t, "a good one is not taken", func() bool { return k8s.Create(t.Context(), aw) == nil })
	if aw.Labels[v1beta2.UserLabel] == "" || aw.Labels[v1beta2.QueueLabel] != "default" {
		t.Errorf("labels %v", aw.Labels)
	}
	eventually(t, "the Job is not created", func() bool {
		return k8s.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "j"}, &batchv1.Job{}) == nil
	})
	aw = &v1beta2.AppWrapper{}
	if err := k8s.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "a"}, aw); err != nil {
		t.Fatal(err)
	}
	before := aw.DeepCopy()
	aw.Spec.Components[0].Template.Raw = []byte(`{"apiVersion":"v1","kind":"Pod"}`)
	if err := k8s.Patch(t.Context(), aw, client.MergeFrom(before)); err == nil || !strings.Contains(err.Error(), "attempt to change immutable field") {
		t.Errorf("a change of the template: %v", err)
	}
}

// Each example is one that the whole manager takes.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../../examples/appwrapper/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("examples: %v (%v)", files, err)
	}
	cluster, k8s := startCluster(t)
	o, err := complete(t, "", "--metrics-bind-address=0", "--health-probe-bind-address=0")
	if err != nil {
		t.Fatal(err)
	}
	run(t, cluster, o)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		aw := &v1beta2.AppWrapper{}
		if err := yaml.UnmarshalStrict(content, aw); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		aw.Namespace = "default"
		if err := k8s.Create(t.Context(), aw); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		eventually(t, file+" does not run", func() bool {
			return k8s.Get(t.Context(), client.ObjectKeyFromObject(aw), aw) == nil && aw.Status.Phase == v1beta2.Running
		})
	}
}

func TestRunWithoutTheCRDSaysSo(t *testing.T) {
	cluster, stop, err := apiserver.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stop() }()
	o, err := complete(t, "", "--metrics-bind-address=0", "--health-probe-bind-address=0")
	if err != nil {
		t.Fatal(err)
	}
	o.Registry, o.KindPatience = prometheus.NewRegistry(), time.Second
	if err := o.Run(t.Context(), cluster); err == nil || !strings.Contains(err.Error(), "install the custom resource definition first") {
		t.Errorf("got %v", err)
	}
}

func startCluster(t *testing.T) (*rest.Config, client.Client) {
	t.Helper()
	cluster, stop, err := apiserver.Start("../../config/crd/bases")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stop() })
	k8s, err := client.New(cluster, client.Options{Scheme: NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	return cluster, k8s
}

// run a manager that must end without an error when the test does.
func run(t *testing.T, cluster *rest.Config, o *Options) {
	t.Helper()
	o.Registry = prometheus.NewRegistry()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- o.Run(ctx, cluster) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// install creates what a chart brings: an empty Secret, and the generated webhook configurations, here with a URL.
func install(t *testing.T, k8s client.Client, url string) {
	t.Helper()
	content, err := os.ReadFile("../../config/webhook/manifests.yaml")
	if err != nil {
		t.Fatal(err)
	}
	at := func(c *admissionv1.WebhookClientConfig) {
		c.URL, c.Service = new(url+*c.Service.Path), nil
	}
	var mutating admissionv1.MutatingWebhookConfiguration
	var validating admissionv1.ValidatingWebhookConfiguration
	for _, document := range strings.Split(string(content), "---\n") {
		switch {
		case strings.Contains(document, "kind: Mutating"):
			if err := yaml.Unmarshal([]byte(document), &mutating); err != nil {
				t.Fatal(err)
			}
		case strings.Contains(document, "kind: Validating"):
			if err := yaml.Unmarshal([]byte(document), &validating); err != nil {
				t.Fatal(err)
			}
		}
	}
	at(&mutating.Webhooks[0].ClientConfig)
	at(&validating.Webhooks[0].ClientConfig)
	secret := corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: secretName}}
	for _, object := range []client.Object{&mutating, &validating, &secret} {
		if err := k8s.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func eventually(t *testing.T, complaint string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if done() {
			return
		}
	}
	t.Fatal(complaint)
}

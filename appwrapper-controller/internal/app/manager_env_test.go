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
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	. "github.com/holdfast-project/holdfast/appwrapper-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
	"github.com/holdfast-project/holdfast/shared/testing/apiserver"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

// The whole manager runs with its webhooks and their certificates. It rejects an invalid AppWrapper. It labels a
// valid one and creates its Job.
func TestManagerServesWebhooksAndRunsAJob(t *testing.T) {
	cluster, k8s := startCluster(t)
	t.Setenv("POD_NAMESPACE", "default")
	health, webhooks := sandbox.FreeAddress(t), sandbox.FreeAddress(t)
	_, port, _ := net.SplitHostPort(webhooks)
	apiserver.InstallWebhooks(t, k8s, "../../../charts/appwrapper-controller/files/webhook/manifests.yaml", "https://localhost:"+port, "appwrapper-webhook-server-cert")
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
	// The API server takes a moment to use the CA in the webhook configurations.
	eventually(t, "the invalid AppWrapper is not rejected", func() bool {
		err = k8s.Create(t.Context(), MakeAppWrapper("bad").Service("s").Namespace("default").Obj())
		return err != nil && strings.Contains(err.Error(), "components contains no podspecs")
	})
	aw := MakeAppWrapper("a").Component(jobOfManyKeys).Namespace("default").Obj()
	sandbox.Eventually(t, func() string {
		if err := k8s.Create(t.Context(), aw); err != nil {
			return "the valid AppWrapper is rejected: " + err.Error()
		}
		return ""
	})
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
	if r := aw.Status.Reviewed; r == nil || r.UID != aw.UID {
		t.Errorf("reviewed %+v", r)
	}
	before := aw.DeepCopy()
	aw.Spec.Components[0].Template.Raw = []byte(`{"apiVersion":"v1","kind":"Pod"}`)
	if err := k8s.Patch(t.Context(), aw, client.MergeFrom(before)); err == nil || !strings.Contains(err.Error(), "attempt to change immutable field") {
		t.Errorf("changing the template: %v", err)
	}
}

// jobOfManyKeys has fields that the API server may store in a different form.
const jobOfManyKeys = `{kind: Job, spec: {template: {metadata: {creationTimestamp: null}, spec: {restartPolicy: Never, containers: [
  {name: a, image: b, resources: {limits: {cpu: 1}}}]}}, parallelism: 1}, metadata: {name: j, creationTimestamp: null, labels: {z: x, a: b}}, apiVersion: batch/v1}`

// The manager accepts each example.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../../examples/appwrapper/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("examples: %v (%v)", files, err)
	}
	cluster, k8s := startCluster(t)
	o, err := complete(t, "appwrapper: {userRBACAdmissionCheck: false}\n", "--metrics-bind-address=0", "--health-probe-bind-address=0") // there is no webhook
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

func TestRunFailsWithoutTheCRD(t *testing.T) {
	cluster, _ := apiserver.ForTest(t, bootstrap.NewScheme(v1beta2.AddToScheme))
	o, err := complete(t, "", "--metrics-bind-address=0", "--health-probe-bind-address=0")
	if err != nil {
		t.Fatal(err)
	}
	o.Registry, o.KindPatience = prometheus.NewRegistry(), time.Second
	if err := o.Run(t.Context(), cluster); err == nil || !strings.Contains(err.Error(), "install its CustomResourceDefinition first") {
		t.Errorf("got %v", err)
	}
}

func startCluster(t *testing.T) (*rest.Config, client.Client) {
	t.Helper()
	return apiserver.ForTest(t, bootstrap.NewScheme(v1beta2.AddToScheme), "../../../charts/appwrapper-controller/files/crds")
}

// run runs a manager until the test ends. The manager must then stop without an error.
func run(t *testing.T, cluster *rest.Config, o *Options) {
	t.Helper()
	o.Registry = prometheus.NewRegistry()
	sandbox.Run(t, func(ctx context.Context) error { return o.Run(ctx, cluster) })
}

func eventually(t *testing.T, complaint string, done func() bool) {
	t.Helper()
	sandbox.Eventually(t, func() string {
		if done() {
			return ""
		}
		return complaint
	})
}

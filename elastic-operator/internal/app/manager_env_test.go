//go:build envtest

package app

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	. "github.com/holdfast-project/holdfast/elastic-operator/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
	"github.com/holdfast-project/holdfast/shared/testing/apiserver"
)

func TestManagerRunsAJob(t *testing.T) {
	cluster, k8s := apiserver.ForTest(t, bootstrap.NewScheme(v1alpha1.AddToScheme), "../../../charts/elastic-operator/files/crds")
	o, err := complete(t, "", "--metrics-bind-address=0", "--health-probe-bind-address=0")
	if err != nil {
		t.Fatal(err)
	}
	o.Registry = prometheus.NewRegistry()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- o.Run(ctx, cluster) }()
	job := MakeElasticJob("a").Namespace("default").Obj()
	if err := k8s.Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); job.Status.Replicas != 2; time.Sleep(50 * time.Millisecond) {
		if err := k8s.Get(t.Context(), client.ObjectKeyFromObject(job), job); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatalf("status %+v", job.Status)
		}
	}
	if job.Status.State != v1alpha1.StatePending || job.Status.Indexes != "0-1" {
		t.Errorf("status %+v", job.Status)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestRunFailsWithoutTheCRD(t *testing.T) {
	cluster, _ := apiserver.ForTest(t, bootstrap.NewScheme(v1alpha1.AddToScheme))
	o, err := complete(t, "", "--metrics-bind-address=0", "--health-probe-bind-address=0")
	if err != nil {
		t.Fatal(err)
	}
	o.Registry, o.KindPatience = prometheus.NewRegistry(), 300*time.Millisecond
	if err := o.Run(t.Context(), cluster); err == nil || !strings.Contains(err.Error(), "install its CustomResourceDefinition first") {
		t.Errorf("got %v", err)
	}
}

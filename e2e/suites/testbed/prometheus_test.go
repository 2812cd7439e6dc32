//go:build e2e

package testbed

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/holdfast-project/holdfast/e2e/testbed/prometheus"
)

func TestPrometheusScrapesItsTargets(t *testing.T) {
	controller := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "restarts_total{kind=\"inplace\"} 42")
	}))
	t.Cleanup(controller.Close)
	t.Cleanup(func() {
		if err := cluster.StopPrometheus(context.Background()); err != nil {
			t.Error(err)
		}
	})
	server := scrape(t, cluster.ControlPlaneTargets()...)
	until(t, "etcd has a leader", func(ctx context.Context) error {
		etcd, err := server.Query(ctx, `etcd_server_has_leader{job="etcd"}`)
		if err == nil && (len(etcd) != 1 || etcd[0].Value != 1) {
			err = fmt.Errorf("it is %v", etcd)
		}
		return err
	})

	// Change the targets while it runs.
	address := strings.TrimPrefix(controller.URL, "http://")
	scrape(t, prometheus.Target{Job: "controller", Addresses: []string{address}, Labels: map[string]string{"shard": "a"}})
	until(t, "the controller's counter is there", func(ctx context.Context) error {
		got, err := server.Query(ctx, `restarts_total{kind="inplace",job="controller",shard="a"}`)
		if err == nil && (len(got) != 1 || got[0].Value != 42) {
			err = fmt.Errorf("it is %v", got)
		}
		return err
	})
}

func scrape(t *testing.T, targets ...prometheus.Target) prometheus.Server {
	t.Helper()
	server, err := cluster.Prometheus(t.Context(), targets...)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

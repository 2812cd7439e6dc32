//go:build envtest

package app

import (
	"crypto/tls"
	"net/http"
	"testing"

	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

func TestMetricsRequireAuthorization(t *testing.T) {
	cluster, _ := startCluster(t)
	health, metrics := sandbox.FreeAddress(t), sandbox.FreeAddress(t)
	start(t, cluster, parse(t, "--metrics-bind-address="+metrics, "--health-probe-bind-address="+health))
	eventually(t, "readyz is not OK", func() bool { return isOK("http://" + health + "/readyz") })

	anybody := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
	var response *http.Response
	eventually(t, "metrics are not served", func() (served bool) {
		var err error
		response, err = anybody.Get("https://" + metrics + "/metrics")
		return err == nil
	})
	defer response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized && response.StatusCode != http.StatusForbidden {
		t.Errorf("status %s", response.Status)
	}
	if response.ProtoMajor != 1 {
		t.Errorf("served by %s", response.Proto)
	}
}

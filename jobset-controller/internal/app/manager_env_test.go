//go:build envtest

package app

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/testing/apiserver"
)

func TestRunServesUntilItIsStopped(t *testing.T) {
	config, stop, err := apiserver.Start("../../config/crd/bases")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stop() }()
	health := freeAddress(t)
	o := parse(t, "--metrics-bind-address=0", "--health-probe-bind-address="+health, "--leader-elect", "--leader-election-namespace=default")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, config, o) }()
	awaitOK(t, "http://"+health+"/readyz")
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the manager does not stop")
	}
}

func TestRunWithoutTheCRDSaysSo(t *testing.T) {
	config, stop, err := apiserver.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stop() }()
	err = Run(t.Context(), config, parse(t, "--metrics-bind-address=0", "--health-probe-bind-address=0"))
	if err == nil || !strings.Contains(err.Error(), "install the custom resource definition first") {
		t.Errorf("got %v", err)
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

func awaitOK(t *testing.T, url string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		response, err := http.Get(url)
		if err != nil {
			continue
		}
		response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return
		}
	}
	t.Fatalf("%s is not OK", url)
}

package simulated

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
)

// On a shared connection the news of a pod would wait behind the reports of all others.
func TestClientsHaveConnectionsOfTheirOwn(t *testing.T) {
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	server.EnableHTTP2 = true
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.StartTLS()
	defer server.Close()
	clients, err := newClients(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time each has its connection
		for _, c := range clients {
			if err := c.Discovery().RESTClient().Get().AbsPath("/healthz").Do(t.Context()).Error(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := connections.Load(); got != 3 {
		t.Errorf("%d connections for 3 clients", got)
	}
}

package kubelet

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// On a shared connection a report would wait behind those of all other pods.
func TestClientsDoNotShareConnections(t *testing.T) {
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
	for range 2 { // the second time they reuse their connections
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

func TestUnreportedCountsPodsWithUnreportedChanges(t *testing.T) {
	begun := time.Now()
	started := Begin(begun, Shape{Containers: []ContainerShape{{Name: "worker"}}}, Rules{}, func() float64 { return 0 })
	f := &Nodes{parts: map[types.NamespacedName]*part{
		{Name: "a"}: {life: started, written: started.Version()},
		{Name: "b"}: {life: Begin(begun, Shape{}, Rules{}, nil)},
	}}
	if got := f.Unreported(); got != 0 {
		t.Errorf("%d before anything has happened", got)
	}
	started.Advance(begun)
	if got := f.Unreported(); got != 1 {
		t.Errorf("%d after a container has started, want 1", got)
	}
}

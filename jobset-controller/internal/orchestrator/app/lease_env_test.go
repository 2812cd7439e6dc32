//go:build envtest

package app

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
	"github.com/holdfast-project/holdfast/shared/testing/apiserver"
)

// A leader without a Lease has no token, so the store would reject it.
func TestLeaderGetsItsTokenFromTheLease(t *testing.T) {
	cluster, _ := apiserver.ForTest(t, scheme(), "../../../../charts/jobset-controller/files/crds")
	o, err := parse("--valkey-address=a:1", "--leader-election-namespace=default", "--health-probe-bind-address=0")
	if err != nil {
		t.Fatal(err)
	}
	o.Registry = prometheus.NewRegistry()
	first, second := lead(t, cluster, o), lead(t, cluster, o)
	if second <= first {
		t.Errorf("the token does not increase with a new leader: %d after %d", second, first)
	}
}

// lead starts a manager, waits for its token and stops it. It returns the token's number of leader transitions.
func lead(t *testing.T, cluster *rest.Config, o *Options) int64 {
	t.Helper()
	mgr, err := bootstrap.New(cluster, &o.Options, bootstrap.Setup{Program: "orchestrator", Scheme: scheme()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	lease := &orchestrator.Lease{
		Live: mgr.GetAPIReader(), Identity: mgr.Identity,
		Key: types.NamespacedName{Namespace: o.Leader.Namespace, Name: o.Leader.Name},
	}
	token, err := lease.Token(t.Context())
	for deadline := time.Now().Add(20 * time.Second); err != nil && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		token, err = lease.Token(t.Context())
	}
	cancel()
	if stopped := <-ended; err != nil || stopped != nil {
		t.Fatalf("token: %v, end: %v", err, stopped)
	}
	return token.Transitions
}

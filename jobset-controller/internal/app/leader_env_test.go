//go:build envtest

package app

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The first manager releases the Lease, so that the second one does not have to wait for it to expire.
func TestSecondManagerTakesOverWhenTheFirstStops(t *testing.T) {
	cluster, k8s := startCluster(t)
	args := []string{
		"--metrics-bind-address=0", "--health-probe-bind-address=0", "--leader-elect", "--leader-election-namespace=default",
		"--leader-election-lease-duration=6s",
	}
	stopFirst := start(t, cluster, parse(t, args...))
	var first string
	eventually(t, "no manager leads", func() bool { first = holder(t, k8s); return first != "" })
	start(t, cluster, parse(t, args...))
	time.Sleep(2 * time.Second) // the second manager must have observed that the Lease is held
	if now := holder(t, k8s); now != first {
		t.Fatalf("%q leads while %q runs", now, first)
	}

	stopped := time.Now()
	stopFirst()
	eventually(t, "no manager takes over", func() bool { now := holder(t, k8s); return now != "" && now != first })
	if took := time.Since(stopped); took > 3*time.Second {
		t.Errorf("the handover took %s", took)
	}
}

// Another program takes the Lease.
func TestLostLeaseIsOneClearError(t *testing.T) {
	cluster, k8s := startCluster(t)
	o := parse(t, "--metrics-bind-address=0", "--health-probe-bind-address=0", "--leader-elect", "--leader-election-namespace=default",
		"--leader-election-lease-duration=3s")
	o.Registry = prometheus.NewRegistry()
	ended := make(chan error, 1)
	go func() { ended <- o.Run(t.Context(), cluster) }()
	eventually(t, "no manager leads", func() bool { return holder(t, k8s) != "" })
	eventually(t, "the Lease cannot be taken", func() bool {
		lease := readLease(t, k8s)
		lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = ptr.To("thief"), ptr.To[int32](600)
		return k8s.Update(t.Context(), lease) == nil
	})
	select {
	case err := <-ended:
		if want := "lost the Lease default/" + leaseName + ": another process may be leading now"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	case <-time.After(15 * time.Second):
		t.Error("the manager continues without the Lease")
	}
}

// holder returns the identity of the Lease's holder, or "" if there is none.
func holder(t *testing.T, k8s client.Client) string {
	t.Helper()
	return ptr.Deref(readLease(t, k8s).Spec.HolderIdentity, "")
}

func readLease(t *testing.T, k8s client.Client) *coordinationv1.Lease {
	t.Helper()
	var lease coordinationv1.Lease
	if err := client.IgnoreNotFound(k8s.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: leaseName}, &lease)); err != nil {
		t.Fatal(err)
	}
	return &lease
}

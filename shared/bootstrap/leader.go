package bootstrap

import (
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func (l Leader) renew() time.Duration {
	if l.Renew != 0 {
		return l.Renew
	}
	return l.Lease * 2 / 3
}

// retry bounds the hand-over: a released Lease is taken within 2.2 of these periods.
func (l Leader) retry() time.Duration {
	if l.Retry != 0 {
		return l.Retry
	}
	return l.Lease / 8
}

// lock is the Lease, as this process asks for it.
func (l Leader) lock(cluster *rest.Config, identity string) (resourcelock.Interface, error) {
	lock, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, l.Namespace, l.Name,
		resourcelock.ResourceLockConfig{Identity: identity}, cluster, l.renew())
	if err != nil {
		return nil, fmt.Errorf("preparing the Lease: %w", err)
	}
	return lock, nil
}

// newIdentity is different for every process, also for two on one host.
func newIdentity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return host + "_" + string(uuid.NewUUID())
}

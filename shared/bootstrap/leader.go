package bootstrap

import (
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
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

// lock is the Lease, as this process asks for it: by a connection of its own, and under the name of the program, for what client-go
// makes of a connection says only what the file of the program is called.
func (l Leader) lock(cluster *rest.Config, identity string) (resourcelock.Interface, error) {
	own := rest.CopyConfig(cluster)
	own.Timeout = max(l.renew()/2, time.Second) // so that there is time for a second try
	clients, err := kubernetes.NewForConfig(own)
	if err != nil {
		return nil, fmt.Errorf("preparing the Lease: %w", err)
	}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, l.Namespace, l.Name, clients.CoreV1(), clients.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: identity})
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

package orchestrator

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/owners"
)

// Discover waits until the cluster has the definition of ElasticJobs and this program may read them. JobSets are led meanwhile: a
// missing definition or permission does not end the program. Discover is a runnable of the leader.
type Discover struct {
	Live   client.Reader
	Owners *owners.Lister
	// Begin starts leading them. It is called once.
	Begin func() error
	Every time.Duration
}

// Start polls until it has found them, or until ctx ends.
func (d *Discover) Start(ctx context.Context) error {
	var said string
	for {
		there, err := d.look(ctx)
		if there {
			log.FromContext(ctx).Info("managing in-place restarts of ElasticJobs")
			return d.Begin()
		}
		if err != nil && err.Error() != said {
			said = err.Error()
			log.FromContext(ctx).Error(err, "reading ElasticJobs failed, not managing their in-place restarts")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(d.Every):
		}
	}
}

// look tries a live list, which needs the same permission as the watch.
func (d *Discover) look(ctx context.Context) (there bool, err error) {
	_, err = owners.List(ctx, d.Live, client.Limit(1))
	switch {
	case meta.IsNoMatchError(err):
		d.Owners.Found(false)
		return false, nil
	case err != nil:
		return false, err
	}
	d.Owners.Found(true)
	return true, nil
}

package orchestrator

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/owners"
)

// Discover waits until the cluster knows ElasticJobs, and this program may read them. JobSets are led meanwhile: nothing ends for want of
// a definition or of a right. It is a runnable of the leader.
type Discover struct {
	Live   client.Reader
	Owners *owners.Lister
	// Begin to lead them; it is called once.
	Begin func() error
	Every time.Duration
}

// Start looks until it has found them, or ctx ends.
func (d *Discover) Start(ctx context.Context) error {
	var said string
	for {
		there, err := d.look(ctx)
		if there {
			log.FromContext(ctx).Info("leading the groups of ElasticJobs")
			return d.Begin()
		}
		if err != nil && err.Error() != said {
			said = err.Error()
			log.FromContext(ctx).Error(err, "ElasticJobs cannot be read; their groups are not led")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(d.Every):
		}
	}
}

// look by a live list, which needs the right that the watch needs.
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

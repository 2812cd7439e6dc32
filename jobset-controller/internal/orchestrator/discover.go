package orchestrator

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/owners"
)

// Discover waits until the cluster has the definition of ElasticJobs and this program may read them. JobSets are managed in the meantime: a
// missing definition or permission does not end the program. Discover runs only on the leader.
type Discover struct {
	Live   client.Reader
	Owners *owners.Lister
	// Begin starts leading them. It is called once.
	Begin func() error
	Every time.Duration
}

// Start polls with a live list, which needs the same permission as the watch, until it has found them or ctx ends.
func (d *Discover) Start(ctx context.Context) error {
	var said string
	err := wait.PollUntilContextCancel(ctx, d.Every, true, func(ctx context.Context) (there bool, _ error) {
		_, err := owners.List(ctx, d.Live, client.Limit(1))
		switch {
		case err == nil, meta.IsNoMatchError(err):
			d.Owners.Found(err == nil)
		case err.Error() != said:
			said = err.Error()
			log.FromContext(ctx).Error(err, "reading ElasticJobs failed, not managing their in-place restarts")
		}
		return err == nil, nil
	})
	if err != nil {
		return nil // ctx has ended
	}
	log.FromContext(ctx).Info("managing in-place restarts of ElasticJobs")
	return d.Begin()
}

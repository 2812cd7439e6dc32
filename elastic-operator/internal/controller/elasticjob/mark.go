package elasticjob

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

// enough of its time is left to a recovery: workers fail one after the other, and not each of them is worth a write.
const enough = 2 * time.Minute

// mark says on the job that its workers are being replaced, before they are, and takes that away when it is over. The status has it as a
// condition.
func (r *Reconciler) mark(ctx context.Context, s *scope, d *policy.Decision) error {
	annotations := s.job.Annotations
	value, write := "", d.Recovering == nil && recovering.Release(annotations, recovering.RungElastic)
	if d.Recovering != nil && !saidOf(annotations, s.facts.Now) {
		value, write = recovering.Place(annotations, *d.Recovering, s.facts.Now)
	}
	if !write {
		return nil
	}
	next := s.job.DeepCopy()
	if value == "" {
		delete(next.Annotations, recovering.Annotation)
	} else {
		metav1.SetMetaDataAnnotation(&next.ObjectMeta, recovering.Annotation, value)
	}
	if err := r.Client.Patch(ctx, next, client.MergeFromWithOptions(s.job, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("saying that the ElasticJob recovers: %w", err)
	}
	s.job = next
	return nil
}

// saidOf this rung is what there is to say, for long enough.
func saidOf(annotations map[string]string, now time.Time) bool {
	said, found := recovering.Of(annotations)
	return found && said.Rung == recovering.RungElastic && said.Live(now.Add(enough))
}

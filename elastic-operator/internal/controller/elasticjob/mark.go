package elasticjob

import (
	"context"
	"fmt"
	"maps"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
	"github.com/holdfast-project/holdfast/shared/recovering"
	"github.com/holdfast-project/holdfast/shared/roster"
)

// enough of its time is left to a recovery: workers fail one after the other, and not each of them is worth a write.
const enough = 2 * time.Minute

// mark says on the job that its workers are being replaced or restarted, before they are, and takes that away when it is over; the status has
// it as a condition. And it says who is restarted in place together, before anybody is removed.
func (r *Reconciler) mark(ctx context.Context, s *scope, d *policy.Decision) error {
	annotations := maps.Clone(s.job.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	markRecovery(annotations, d, s.facts.Now)
	if d.Roster == nil {
		delete(annotations, roster.Annotation)
	} else {
		annotations[roster.Annotation] = d.Roster.Format()
	}
	if maps.Equal(annotations, s.job.Annotations) {
		return nil
	}
	next := s.job.DeepCopy()
	next.Annotations = annotations
	if err := r.Client.Patch(ctx, next, client.MergeFromWithOptions(s.job, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("saying what is done about the workers: %w", err)
	}
	s.job = next
	return nil
}

func markRecovery(annotations map[string]string, d *policy.Decision, now time.Time) {
	if d.Recovering == nil {
		if recovering.Release(annotations, recovering.RungElastic, recovering.RungProcess) {
			delete(annotations, recovering.Annotation)
		}
		return
	}
	if saidOf(annotations, now) {
		return
	}
	if value, write := recovering.Place(annotations, *d.Recovering, now); write {
		annotations[recovering.Annotation] = value
	}
}

// saidOf this rung is what there is to say, for long enough.
func saidOf(annotations map[string]string, now time.Time) bool {
	said, found := recovering.Of(annotations)
	return found && said.Rung == recovering.RungElastic && said.Live(now.Add(enough))
}

package orchestrator

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/holdfast-project/holdfast/shared/bootstrap/meter"
	"github.com/holdfast-project/holdfast/shared/series"
)

// Reasons of events on JobSets about pods that were lost.
const (
	eventReplaced    = "InPlacePodReplaced"    // a worker has lost its pod: the leader has made a new one
	eventNotReplaced = "InPlacePodNotReplaced" // and the API server refuses one
	eventForced      = "InPlacePodForced"      // a pod was deleted by force, its node being gone for good
)

var (
	replacements = meter.Counter(series.Replacements)
	forced       = meter.Counter(series.ForcedDeletions)
)

func init() { metrics.Registry.MustRegister(replacements, forced) }

// reportReplaced says what a look has made, in one event.
func (r *Reconciler) reportReplaced(s *scope, made []replaced) {
	if len(made) == 0 {
		return
	}
	replacements.Add(float64(len(made)))
	who := "worker " + made[0].slot
	if len(made) > 1 {
		who = fmt.Sprintf("worker %s and %d others", made[0].slot, len(made)-1)
	}
	r.event(s, corev1.EventTypeNormal, eventReplaced, "%s lost its pod; made a new one (%s) without waiting for the back-off of its Job",
		who, made[0].pod)
}

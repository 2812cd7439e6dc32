package orchestrator

import (
	"fmt"
	"strings"

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
	who, pods := "worker "+made[0].slot+" lost its pod", "a new one"
	if others := len(made) - 1; others > 0 {
		who, pods = fmt.Sprintf("worker %s and %d more lost their pods", made[0].slot, others), "new ones"
	}
	r.event(s, corev1.EventTypeNormal, eventReplaced, "%s; made %s (%s) without waiting for the back-off of the Job", who, pods, made[0].pod)
}

// forcedAway is a pod that was deleted by force, and the evidence that nothing of it runs.
type forcedAway struct{ pod, why string }

// reportForced says what a look has deleted by force, in one event: of several with one reason only the first would be kept.
func (r *Reconciler) reportForced(s *scope) {
	if len(s.forced) == 0 {
		return
	}
	forced.Add(float64(len(s.forced)))
	r.event(s, corev1.EventTypeWarning, eventForced, "%s", forcedNote(s.forced))
}

// forcedNote tells the evidence of each node once, and of so many pods and nodes that it fits an event.
func forcedNote(all []forcedAway) string {
	const most = 3
	var reasons []string
	pods := map[string][]string{}
	for _, one := range all {
		if pods[one.why] == nil {
			reasons = append(reasons, one.why)
		}
		pods[one.why] = append(pods[one.why], one.pod)
	}
	var notes []string
	for i, why := range reasons {
		if i == most {
			notes = append(notes, fmt.Sprintf("and the same on %d more nodes", len(reasons)-most))
			break
		}
		notes = append(notes, fmt.Sprintf("%s: being deleted, and %s; deleted by force, each slot gets a new pod", some(pods[why], most), why))
	}
	return strings.Join(notes, "; ")
}

// some of the names, and how many there are more.
func some(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

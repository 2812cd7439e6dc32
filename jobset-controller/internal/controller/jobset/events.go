package jobset

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/notes"
)

// Event reasons that are not also condition reasons.
const (
	jobCreationFailed             = "JobCreationFailed"
	jobUpdateFailed               = "JobUpdateFailed"
	headlessServiceCreationFailed = "HeadlessServiceCreationFailed"
	foreignService                = "ForeignService"
	pvcCreationFailed             = "PVCCreationFailed"
	foreignClaim                  = "ForeignVolumeClaim"
	podReleased                   = "StuckPodDeleted"
	placementNotEnforced          = "ExclusivePlacementNotEnforced"
	// actionSuffix is appended to the name of a failure policy action to form the reason of its event.
	actionSuffix = "FailurePolicyAction"
)

const (
	eventAction = "Reconciling"
	// maxReason is the maximum length of an event reason in bytes. The API server rejects events with longer reasons.
	maxReason = 128
	// cacheSize limits how many past warnings are remembered. A warning that was dropped from the cache may be reported
	// again.
	cacheSize = 4096
)

// notice is an event to be emitted after the status has been written.
type notice struct{ kind, reason, message string }

func normal(reason, message string) notice { return notice{corev1.EventTypeNormal, reason, message} }

func warning(reason, message string) notice { return notice{corev1.EventTypeWarning, reason, message} }

// send emits an event without the JobSet's resource version, because repeated events form a series only if they refer
// to the same version.
func (r *Reconciler) send(js *v1alpha2.JobSet, n notice) {
	about := &v1alpha2.JobSet{ObjectMeta: metav1.ObjectMeta{Namespace: js.Namespace, Name: js.Name, UID: js.UID}}
	r.Recorder.Eventf(about, nil, n.kind, notes.Truncate(n.reason, maxReason), eventAction, "%s", notes.Truncate(n.message, notes.MaxLength))
}

func (r *Reconciler) warn(js *v1alpha2.JobSet, reason, message string) {
	r.send(js, warning(reason, message))
}

// warnOnce emits the same warning only once per JobSet, regardless of how often the JobSet is reconciled.
func (r *Reconciler) warnOnce(js *v1alpha2.JobSet, reason, message string) {
	key := struct {
		uid             types.UID
		reason, message string
	}{js.UID, reason, message}
	if _, reported := r.reported.Get(key); reported {
		return
	}
	r.reported.Add(key, nil)
	r.warn(js, reason, message)
}

// reportProblems warns about problems that the user must fix. It does not warn about a finished JobSet.
func (r *Reconciler) reportProblems(s *scope) {
	if s.finished() {
		return
	}
	r.reportAgents(s)
	if !r.Places && policy.PlacedByWebhook(s.jobSet) {
		r.warnOnce(s.jobSet, placementNotEnforced, "annotation "+v1alpha2.ExclusiveKey+
			" is passed on to the jobs but not enforced, because the manager serves no webhooks; they may share a topology domain")
	}
}

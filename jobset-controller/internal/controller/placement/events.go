package placement

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/shared/notes"
)

// Reasons for events about Jobs.
const (
	domainUnknown    = "TopologyDomainUnknown" // the leader's node lacks the label
	followersEvicted = "FollowersEvicted"      // followers were not in their leader's domain
	leaderReplaced   = "LeaderReplaced"        // a follower has become the leader
)

const (
	eventAction = "Placing"
	// cacheSize limits how many past events are remembered.
	cacheSize = 4096
)

// report emits events about anything that keeps the pods of a Job apart or prevents them from running.
func (r *Reconciler) report(s *scope) {
	switch {
	case s.anchor != nil && s.domain == "":
		r.reportOnce(s, corev1.EventTypeWarning, domainUnknown, fmt.Sprintf(
			"node %s of pod %s has no label %s; the other pods are waiting until the label is added", s.anchor.Spec.NodeName, s.anchor.Name, s.topology))
	case s.lacksLeader():
		r.reportOnce(s, corev1.EventTypeWarning, leaderReplaced, fmt.Sprintf("the pod with index 0 has finished; pod %s is the new leader, "+
			"and its %s may not be exclusive", s.leaderless.Name, s.topology))
	case len(s.moves.Evict) > 0:
		r.reportOnce(s, corev1.EventTypeNormal, followersEvicted, fmt.Sprintf(
			"%d pods are being recreated in %s %s, where their leader %s is", len(s.moves.Evict), s.topology, s.domain, s.anchor.Name))
	}
}

// reportOnce emits an event about a Job unless it has already been emitted.
func (r *Reconciler) reportOnce(s *scope, kind, reason, note string) {
	key := struct {
		job          types.UID
		reason, note string
	}{s.job.UID, reason, note}
	if _, reported := r.reported.Get(key); reported {
		return
	}
	r.reported.Add(key, nil)
	r.recorder.Eventf(s.job, nil, kind, reason, eventAction, "%s", notes.Truncate(note, notes.MaxLength))
}

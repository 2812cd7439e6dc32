package orchestrator

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// phases counts the groups of this leader by phase. It also knows the UIDs behind the names of JobSets that are gone.
type phases struct {
	mu sync.Mutex
	of map[types.NamespacedName]led
}

// led is a group that is led; without a phase it is not there.
type led struct {
	uid   types.UID
	phase coordination.Phase
}

// set notes the group of a JobSet and returns what was noted before.
func (p *phases) set(jobSet types.NamespacedName, now led) led {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[types.NamespacedName]led{}
	}
	before := p.of[jobSet]
	p.of[jobSet] = now
	if before.phase != "" {
		groups.WithLabelValues(string(before.phase)).Dec()
	}
	if now.phase == "" {
		delete(p.of, jobSet)
	} else {
		groups.WithLabelValues(string(now.phase)).Inc()
	}
	return before
}

// forget drops all that is remembered of a JobSet that is gone.
func (r *Reconciler) forget(jobSet types.NamespacedName) {
	r.losses.take(jobSet)
	r.forgetGroup(r.phases.set(jobSet, led{}).uid)
}

// forgetGroup drops what is remembered by a JobSet's UID.
func (r *Reconciler) forgetGroup(uid types.UID) {
	r.accounts.forget(uid)
	r.usage.saw(uid, nil, r.Clock.Now())
	r.rounds.forget(uid)
	r.paces.forget(uid)
	r.inspections.forget(uid)
	r.fenceLooks.forget(uid)
	r.nodeLooks.forget(uid)
	r.rejections.forget(uid)
	r.nudges.forget(uid)
}

func (s *scope) phase() coordination.Phase {
	if s.group == nil {
		return ""
	}
	return s.group.Phase
}

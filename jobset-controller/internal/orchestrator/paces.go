package orchestrator

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/replace"
)

// paces remembers what was made for the slots of the rounds in progress. A new leader starts anew, so it is early by one pod a slot
// at most.
type paces struct {
	mu sync.Mutex
	of map[types.UID]*roundPaces
}

type roundPaces struct {
	epoch, round int64
	slots        map[string]replace.Pace
}

// wait is how long no new pod is made for a slot.
func (p *paces) wait(s *scope, slot string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(0, p.current(s).slots[slot].Due().Sub(s.now))
}

// note counts a pod that is being made.
func (p *paces) note(s *scope, slot string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	slots := p.current(s).slots
	slots[slot] = replace.Pace{Made: slots[slot].Made + 1, Last: s.now}
}

// first tells whether no more than one pod was tried for a slot.
func (p *paces) first(s *scope, slot string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current(s).slots[slot].Made <= 1
}

func (p *paces) current(s *scope) *roundPaces {
	if p.of == nil {
		p.of = map[types.UID]*roundPaces{}
	}
	r := p.of[s.js.UID]
	if r == nil || r.epoch != s.group.Epoch || r.round != s.group.Round {
		r = &roundPaces{s.group.Epoch, s.group.Round, map[string]replace.Pace{}}
		p.of[s.js.UID] = r
	}
	return r
}

func (p *paces) forget(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.of, uid)
}

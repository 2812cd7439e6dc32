package appwrapper

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
)

// evacuationPoll is how often a workload that has to wait for its turn asks again.
const evacuationPoll = 5 * time.Second

// evacuations bounds how many workloads are away from their nodes at a time: labels that are wrong everywhere at once must not reset
// the whole cluster at once.
type evacuations struct {
	limit int // 0: none
	mu    sync.Mutex
	under map[types.UID]bool
}

func newEvacuations(limit int) *evacuations {
	return &evacuations{limit: limit, under: map[types.UID]bool{}}
}

// admit gives the workload its turn, or says why it has to wait and for how long.
func (e *evacuations) admit(aw *v1beta2.AppWrapper) (held string, retry time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.limit > 0 && !e.under[aw.UID] && len(e.under) >= e.limit {
		return fmt.Sprintf("%d other workloads are being moved, which is as many as may be at a time", len(e.under)), evacuationPoll
	}
	e.under[aw.UID] = true
	return "", 0
}

// note keeps count of a workload by what its status says.
func (e *evacuations) note(aw *v1beta2.AppWrapper) {
	if underEvacuation(aw) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.under[aw.UID] = true
		return
	}
	e.done(aw.UID)
}

func (e *evacuations) done(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.under, uid)
}

// underEvacuation: it has left bad nodes, and its pods do not run elsewhere yet.
func underEvacuation(aw *v1beta2.AppWrapper) bool {
	attempts := aw.Status.Attempts
	switch aw.Status.Phase {
	case v1beta2.Resetting:
		return len(attempts) > 0 && attempts[len(attempts)-1].Evacuation
	case v1beta2.Resuming, v1beta2.Running:
		return len(attempts) > 1 && attempts[len(attempts)-2].Evacuation && attempts[len(attempts)-1].ReadyTime == nil &&
			!meta.IsStatusConditionTrue(aw.Status.Conditions, string(v1beta2.PodsReady))
	}
	return false
}

package appwrapper

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
)

// evacuationPoll is how often a workload that has to wait for its turn asks again.
const evacuationPoll = 5 * time.Second

// evacuations bounds how many workloads are away from their nodes at a time: labels that are wrong everywhere at once must not reset
// the whole cluster at once. Who is away follows from the statuses, so that the bound holds across restarts.
type evacuations struct {
	reader client.Reader
	limit  int // 0: none

	mu sync.Mutex
	// admitted are those that the cache does not show as evacuated yet, with the count of evacuations that it will show.
	admitted map[types.UID]int32
}

func newEvacuations(reader client.Reader, limit int) *evacuations {
	return &evacuations{reader: reader, limit: limit, admitted: map[types.UID]int32{}}
}

// admit gives the workload its turn, or says why it has to wait.
func (e *evacuations) admit(ctx context.Context, aw *v1beta2.AppWrapper) (held string, err error) {
	if e.limit == 0 {
		return "", nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	others, err := e.others(ctx, aw.UID)
	if err != nil {
		return "", err
	}
	if others >= e.limit {
		return fmt.Sprintf("%d other workloads are being moved, which is as many as may be at a time", others), nil
	}
	e.admitted[aw.UID] = aw.Status.Evacuations + 1
	return "", nil
}

// others counts the workloads that are away from their nodes, or about to leave them.
func (e *evacuations) others(ctx context.Context, uid types.UID) (count int, err error) {
	var list v1beta2.AppWrapperList
	if err := e.reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return 0, fmt.Errorf("listing AppWrappers that are being moved: %w", err)
	}
	waiting := map[types.UID]int32{}
	for i := range list.Items {
		aw := &list.Items[i]
		count, admitted := e.admitted[aw.UID]
		if admitted && aw.Status.Phase == v1beta2.Running && aw.Status.Evacuations < count {
			waiting[aw.UID] = count
		}
	}
	e.admitted = waiting
	for i := range list.Items {
		aw := &list.Items[i]
		if _, admitted := waiting[aw.UID]; aw.UID != uid && (admitted || underEvacuation(aw)) {
			count++
		}
	}
	return count, nil
}

// forgo gives back the turn of a workload that was not moved after all.
func (e *evacuations) forgo(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.admitted, uid)
}

// underEvacuation reports whether the workload has left bad nodes, and its pods do not run elsewhere yet.
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

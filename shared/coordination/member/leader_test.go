package member

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// lead does what the leader does: it opens, re-opens after a loss, recreates, and replaces a pod that was fenced.
func (w *world) lead() {
	w.after(time.Second, w.lead)
	for _, p := range w.pods {
		if p.agent != nil && p.agent.fenced {
			p.replace()
		}
	}
	sum, err := w.store.Summary(context.Background(), group)
	switch {
	case errors.Is(err, coordination.ErrNoGroup):
		w.open(w.inc > 0)
	case err != nil:
	case sum.Epoch < w.epoch:
		w.open(true)
	case sum.Phase == coordination.Recreating || w.timedOut(sum.Phase):
		w.epoch++
		w.note("recreate")
		w.open(false)
		for _, p := range w.pods {
			p.replace()
		}
	}
}

// timedOut tells whether a round waits in vain for a finished worker whose report the store has lost. Everything else
// has to come into sync without a time-out.
func (w *world) timedOut(p coordination.Phase) bool {
	finished := slices.ContainsFunc(w.pods, func(p *pod) bool { return p.finished })
	return finished && unfinished(p) && w.now.Sub(w.since) > time.Minute
}

func (w *world) open(recover bool) {
	w.inc++
	var done []string
	for _, p := range w.pods {
		if p.finished {
			done = append(done, p.slot)
		}
	}
	_, err := w.store.Open(context.Background(), group, coordination.Open{
		Incarnation: fmt.Sprint("inc", w.inc), Epoch: w.epoch, Limit: 1 << 40, Recover: recover, Done: done,
		Stages: []coordination.Stage{{Prefix: "js-w", Jobs: 1, Pods: w.size}},
	})
	w.note("open epoch %d recover=%t: %v", w.epoch, recover, err)
	w.publish()
}

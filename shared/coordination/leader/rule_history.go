package leader

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/accounting"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/forming"
	"github.com/holdfast-project/holdfast/shared/history"
	"github.com/holdfast-project/holdfast/shared/series"
)

// account adds restarts that have ended since the last reconcile to the owner's history, and then records them in the metrics. If
// the leader dies in between, they are missing from the metrics. No restart is counted twice, because the write is a compare-and-set
// on the history that was read.
func (p *planner) account() {
	if p.group == nil || p.memory.accounted == p.group.Level {
		return
	}
	// The workers start at the end of the pause. If the remaining pause seems to exceed the whole pause, the store's clock is ahead.
	pause := time.UnixMilli(p.group.Record.InSyncAt).Sub(p.now)
	if p.group.Phase == coordination.Running && pause > 0 && pause <= p.group.Level.Pause {
		p.resyncIn(pause)
		return
	}
	p.accountFor(false)
}

// accountFor reports whether all restarts that have ended are in the history. If not, it requests what is missing: the read or the
// write. over means that no further restart will follow.
func (p *planner) accountFor(over bool) bool {
	switch {
	case !p.Reads.HistoryRead:
		p.plan.Need.History = true
		return false
	case p.Reads.HistoryForeign:
		return true // unreadable history; the next reconcile reads the group again
	}
	written, _ := history.Parse(p.Owner.Annotations[history.Annotation]) // unreadable entries are dropped
	var last history.Attempt
	if n := len(written); n > 0 {
		last = written[n-1].Attempt
	}
	known := len(written)
	of := accounting.Group{
		JobSet: p.Owner.Name, Epoch: p.Owner.Epoch, Over: over, PolicyPrefix: p.Owner.PolicyPrefix, PolicyCounted: p.Owner.PolicyCounted,
	}
	for _, a := range accounting.Of(of, group.Records(p.Stored, p.Reads.History)) {
		forged := a.Epoch > p.group.Generation || a.Round > math.MaxInt32
		if a.After(last) && !forged {
			a = p.located(a)
			written = append(written, a.Entry)
			p.observeRestart(a)
		}
	}
	if len(written) == known {
		p.memory.accounted = p.group.Level
		return true
	}
	text := history.Format(written)
	p.do(Annotate{History: &text})
	return false
}

// located adds the worker's place if the agent did not report it. Since an in-place restart keeps the pod, the place is that of the
// current pod.
func (p *planner) located(a accounting.Account) accounting.Account {
	if a.Slot == "" || a.Place.Node != "" || a.Kind != history.InPlace || a.Cause.Kind == coordination.KindPod {
		return a
	}
	if pod := p.newest(a.Slot); pod != nil {
		return a.At(coordination.Place{PodName: pod.Name, Node: pod.Node})
	}
	return a
}

// observeRestart records a restart in the metrics and emits an event.
func (p *planner) observeRestart(a accounting.Account) {
	reason := a.Cause.Kind
	if !Causes[reason] {
		reason = "other"
	}
	if a.Cause.Kind != accounting.KindPolicy { // the controller decided on that restart and counts it
		p.count(series.Restarts, 1, a.Kind, reason, strconv.FormatBool(a.Counted))
	}
	for _, phase := range history.Phases {
		p.count(series.RestartDuration, a.Took[phase].Duration().Seconds(), a.Kind, phase.String())
	}
	p.count(series.LostWorkerSeconds, a.Lost().Seconds()*float64(p.group.Size), reason)
	if a.Kind == history.InPlace {
		p.count(series.Rounds, 1, Outcome(a.Ended))
	}
	if a.Ended == history.Running {
		p.event(false, EventRestarted, fmt.Sprintf("all %d workers are running again, %s after %s (%s)", p.group.Size, a.Lost(), accountText(a), phasesText(a)))
	}
}

// Outcome returns the metric label for how an in-place restart ended.
func Outcome(e history.End) string { return cmp.Or(string(e), "in_sync") }

// Causes is the set of values for the metric label with the cause of a restart. Agents may also request a recreation for other
// reasons, which are counted as "other".
var Causes = map[string]bool{
	coordination.KindExit: true, coordination.KindHang: true, coordination.KindReplaced: true, coordination.KindPod: true,
	coordination.KindRecovery: true, coordination.KindFinished: true, coordination.KindGap: true, coordination.KindTimeout: true,
	coordination.KindUnkilled: true, coordination.KindStops: true, accounting.KindPolicy: true, forming.KindForming: true,
}

// accountText summarizes the cause of a restart.
func accountText(a accounting.Account) string {
	text := a.Cause.Kind
	if a.Worker != "" {
		text += " of worker " + a.Worker
	}
	if a.Node != "" {
		text += " on node " + a.Node
	}
	return text
}

// phasesText lists how long each phase took.
func phasesText(a accounting.Account) string {
	parts := make([]string, len(history.Phases))
	for i, phase := range history.Phases {
		parts[i] = fmt.Sprintf("%s %s", phase, a.Took[phase].Duration())
	}
	return strings.Join(parts, ", ")
}

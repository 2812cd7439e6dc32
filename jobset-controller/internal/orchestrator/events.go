package orchestrator

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/accounting"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/ladder"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/history"
)

// Reasons of events on JobSets.
const (
	eventRestarting = "InPlaceRestart"           // a worker failed and the group restarts in place
	eventRestarted  = "InPlaceRestarted"         // all workers are in sync again
	eventPod        = "InPlacePodRecreated"      // a worker does not come back: its pod is recreated alone
	eventJob        = "InPlaceJobRecreated"      // its Job is recreated
	eventFailOver   = "InPlaceFailOver"          // not recoverable in place: the Jobs are recreated
	eventUsedUp     = "InPlaceRestartsOver"      // the budget is used up
	eventWaiting    = "InPlaceWaitingForWorkers" // workers have not joined for the first time
	eventEarly      = "InPlaceWorkerFailed"      // a worker failed before it had joined
	eventForeign    = "ForeignStoreValue"        // the store held something unreadable
)

const action = "Restarting"

func (r *Reconciler) event(s *scope, kind, reason, format string, args ...any) {
	r.Recorder.Eventf(s.js, nil, kind, reason, action, "%s", short(fmt.Sprintf(format, args...)))
}

// maxNote is what the API server takes, less what it may count differently. Names in the store may be longer than any that we
// have written.
const maxNote = 1000

func short(text string) string {
	if len(text) <= maxNote {
		return text
	}
	return strings.ToValidUTF8(text[:maxNote], "") + "..."
}

// reportCharge follows a charge that was written: a restart that has begun, or the one that cannot be.
func (r *Reconciler) reportCharge(s *scope) {
	g, budget := s.group, s.budget()
	if budget.Exceeded(s.inPlace.Restarts) {
		r.event(s, corev1.EventTypeWarning, eventUsedUp,
			"%s, and all %d restarts are used up: the JobSet fails; no worker was stopped", causeText(g.Record.Cause), budget)
		return
	}
	r.event(s, corev1.EventTypeWarning, eventRestarting, "%s; restarting all %d workers in place (restart %d of %d)",
		causeText(g.Record.Cause), g.Size, s.inPlace.Restarts, budget)
}

// reportRepairs says what a look has deleted, once for each rung.
func (r *Reconciler) reportRepairs(s *scope, done map[ladder.Rung][]repaired) {
	if s.group == nil {
		return // lost by the store meanwhile: the repair goes on when it is back
	}
	if pods := done[ladder.Pod]; len(pods) > 0 {
		escalations.WithLabelValues(string(ladder.Pod)).Add(float64(len(pods)))
		r.event(s, corev1.EventTypeWarning, eventPod,
			"%s %s; deleting only this pod (%s), so that its Job makes a new one; all Jobs are recreated if %d of %d workers have not joined in %s",
			names(pods), pods[0].why, pods[0].Pod.Name, s.group.Size-s.group.Joined, s.group.Size, s.left())
	}
	if jobs := done[ladder.Job]; len(jobs) > 0 {
		escalations.WithLabelValues(string(ladder.Job)).Add(float64(len(jobs)))
		r.event(s, corev1.EventTypeWarning, eventJob,
			"%s %s; deleting Job %s, which is made again in epoch %d; all Jobs are recreated if %d of %d workers have not joined in %s",
			names(jobs), jobs[0].why, jobs[0].Job.Name, s.epoch.Epoch, s.group.Size-s.group.Joined, s.group.Size, s.left())
	}
}

// left is what remains of the round's time.
func (s *scope) left() time.Duration {
	if s.clock == nil {
		return 0
	}
	return s.clock.Remaining(s.now).Round(time.Second)
}

func (r *Reconciler) reportFailOver(s *scope, old group.Summary) {
	escalations.WithLabelValues("group").Inc()
	r.event(s, corev1.EventTypeWarning, eventFailOver, "%s; deleting all Jobs for a full recreation (epoch %d, restart %d of %d)",
		failOverText(s, old), s.epoch.Epoch, s.inPlace.Restarts, s.budget())
}

func failOverText(s *scope, old group.Summary) string {
	if old.Record.Cause.Kind == coordination.KindTimeout {
		return fmt.Sprintf("the in-place restart to total restart count %d did not end within %s: %d of %d workers joined",
			old.Round, s.inPlace.Timeout, old.Joined, old.Size)
	}
	return causeText(old.Record.Cause) + ", which no restart in place can mend"
}

func (r *Reconciler) reportForeign(s *scope) {
	r.event(s, corev1.EventTypeWarning, eventForeign,
		"%v; the group's data are dropped and collected again from the agents, no worker is stopped for it", s.foreign)
}

// causeText says in words why a round was opened or given up.
func causeText(c coordination.Cause) string {
	switch c.Kind {
	case coordination.KindExit:
		return fmt.Sprintf("%s exited with code %d%s", workerText(c), c.ExitCode, exitText(c))
	case coordination.KindHang:
		return fmt.Sprintf("%s made no progress for %s and was killed", workerText(c), c.Reason)
	case coordination.KindReplaced:
		return workerText(c) + " was restarted"
	case coordination.KindPod:
		return fmt.Sprintf("the pod of %s was lost or replaced", workerText(c))
	case coordination.KindFinished:
		return fmt.Sprintf("worker %s failed after others had finished", c.Slot)
	case coordination.KindGap:
		return fmt.Sprintf("worker %s is more than one restart behind", c.Slot)
	case coordination.KindUnkilled:
		return fmt.Sprintf("worker %s could not be stopped", c.Slot)
	case coordination.KindRecovery:
		return "the store has lost its data"
	case coordination.KindTimeout:
		return "the restart was out of time"
	default:
		return fmt.Sprintf("worker %s asked for it (%s)", c.Slot, c.Kind)
	}
}

// workerText names a worker and, as far as they are known, its pod and node.
func workerText(c coordination.Cause) string {
	text := "worker " + c.Slot
	switch {
	case c.PodName != "" && c.Node != "":
		text += fmt.Sprintf(" (pod %s on node %s)", c.PodName, c.Node)
	case c.Node != "":
		text += fmt.Sprintf(" (on node %s)", c.Node)
	}
	return text
}

// exitText is what is known of an exit beyond its code.
func exitText(c coordination.Cause) string {
	var known []string
	if c.Signal > 0 {
		known = append(known, unix.SignalName(unix.Signal(c.Signal)))
	}
	if c.Reason != "" {
		known = append(known, c.Reason)
	}
	if len(known) == 0 {
		return ""
	}
	return " (" + strings.Join(known, ", ") + ")"
}

// accountText says in a few words what a restart was caused by.
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

// phasesText lists where the time went.
func phasesText(a accounting.Account) string {
	parts := make([]string, len(history.Phases))
	for i, phase := range history.Phases {
		parts[i] = fmt.Sprintf("%s %s", phase, a.Took[phase])
	}
	return strings.Join(parts, ", ")
}

package leader

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
)

// Event reasons.
const (
	EventRestarting  = "InPlaceRestart"           // a worker failed and the group restarts in place
	EventRestarted   = "InPlaceRestarted"         // all workers are in sync again
	EventPod         = "InPlacePodRecreated"      // a worker did not rejoin: only its pod is recreated
	EventJob         = "InPlaceJobRecreated"      // a worker did not rejoin: its Job is recreated
	EventFailOver    = "InPlaceFailOver"          // the group cannot recover in place: all Jobs are recreated
	EventUsedUp      = "InPlaceRestartsOver"      // the budget is used up
	EventWaiting     = "InPlaceWaitingForWorkers" // workers have not joined yet since the group was opened
	EventEarly       = "InPlaceWorkerFailed"      // a worker failed before it joined
	EventForeign     = "ForeignStoreValue"        // the store contained an unreadable value
	EventSpare       = "InPlaceSpareUsed"         // a spare has taken a lost pod's slot
	EventReplaced    = "InPlacePodReplaced"       // a worker lost its pod, and the leader created a new one
	EventNotReplaced = "InPlacePodNotReplaced"    // a worker lost its pod, and the API server rejected a new one
	EventForced      = "InPlacePodForced"         // a pod was force-deleted, because its node is gone
	EventMissed      = "InPlaceJobsWithoutAgents" // some Jobs have no agents: the whole group runs without agents, or the Jobs recreated without agents are deleted
	EventMissedPods  = "InPlacePodsWithoutAgents" // the same for groups of pods without Jobs
)

// Fenced is the reason given when a running pod that can never join is deleted.
const Fenced = "has permanently lost its slot"

// What a repair recreates, as values of a metric label.
const (
	ScopePod   = "pod"
	ScopeJob   = "job"
	ScopeGroup = "group"
)

// Reasons of the InPlaceInSync condition.
const (
	ReasonForming     = "WaitingForWorkers"
	ReasonRunning     = "InSync"
	ReasonRestarting  = "RestartingInPlace"
	ReasonUsedUp      = "RestartsUsedUp"
	ReasonRecreating  = "FailingOver"
	ReasonSuspended   = "Suspended"
	ReasonCompleted   = "Completed"
	ReasonRefused     = "NotPossible"      // the owner requests in-place restarts, but they are not possible
	ReasonUnreachable = "StoreUnreachable" // the store has been unreachable since the owner was created, or since its workers began to join
)

var reasons = map[coordination.Phase]string{
	coordination.Forming: ReasonForming, coordination.Running: ReasonRunning, coordination.Restarting: ReasonRestarting,
	coordination.Terminal: ReasonUsedUp, coordination.Recreating: ReasonRecreating, coordination.Closed: ReasonSuspended,
	coordination.Completed: ReasonCompleted,
}

// maxNamed limits how many names a message lists.
const maxNamed = 5

// groupText describes the group's phase.
func groupText(g *group.Summary) string {
	where := fmt.Sprintf("restart count %d of generation %d", g.Round, g.Generation)
	switch g.Phase {
	case coordination.Running:
		delay := ""
		if g.Level.Pause > 0 {
			delay = fmt.Sprintf("; they waited %s before they started, because the previous restarts ended within a minute", g.Level.Pause)
		}
		return fmt.Sprintf("all %d workers have %s%s%s", g.Size, where, delay, formingText(g))
	case coordination.Restarting:
		if g.Record.Cause.Kind == coordination.KindRecovery {
			return fmt.Sprintf("%s; %d workers are rejoining with %s%s", CauseText(g.Record.Cause), g.Size, where, formingText(g))
		}
		return fmt.Sprintf("%s; restarting %d workers to %s%s", CauseText(g.Record.Cause), g.Size, where, formingText(g))
	case coordination.Terminal, coordination.Recreating:
		return fmt.Sprintf("%s at %s", CauseText(g.Record.Cause), where)
	case coordination.Completed:
		return fmt.Sprintf("all required workers have finished with %s", where)
	}
	return fmt.Sprintf("%d workers, %s", g.Size, where)
}

// formingText names the stages that have not started yet. The group does not wait for them, and restarts do not affect them.
func formingText(g *group.Summary) string {
	var names []string
	for _, stage := range g.Stages {
		if !g.HasEntered(stage) && !g.HasLeft(stage) {
			names = append(names, stage.Prefix)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("; %s %s not started yet", some(names, maxNamed), plural(len(names), "has", "have"))
}

// CauseText describes why a round was opened or abandoned.
func CauseText(c coordination.Cause) string {
	switch c.Kind {
	case coordination.KindExit:
		return fmt.Sprintf("%s exited with code %d%s", workerText(c), c.ExitCode, exitText(c))
	case coordination.KindHang:
		return fmt.Sprintf("%s made no progress for %s and was killed", workerText(c), c.Reason)
	case coordination.KindReplaced:
		return workerText(c) + " was restarted"
	case coordination.KindPod:
		return fmt.Sprintf("the pod of worker %s was lost or replaced%s", c.Slot, placeText(c.Place))
	case coordination.KindFinished:
		return fmt.Sprintf("worker %s failed after others had finished", c.Slot)
	case coordination.KindGap:
		return fmt.Sprintf("worker %s is more than one restart behind", c.Slot)
	case coordination.KindUnkilled:
		return fmt.Sprintf("worker %s could not be stopped", c.Slot)
	case coordination.KindRecovery:
		return "the store lost its data"
	case coordination.KindTimeout:
		return "the restart timed out"
	default:
		return fmt.Sprintf("worker %s requested the restart (%s)", c.Slot, c.Kind)
	}
}

// workerText names a worker and, if known, its pod and node.
func workerText(c coordination.Cause) string {
	return "worker " + c.Slot + placeText(c.Place)
}

// placeText returns the pod and the node in parentheses, or "" if the node is unknown.
func placeText(p coordination.Place) string {
	switch {
	case p.Node == "":
		return ""
	case p.PodName == "":
		return fmt.Sprintf(" (on node %s)", p.Node)
	}
	return fmt.Sprintf(" (pod %s on node %s)", p.PodName, p.Node)
}

// exitText returns all details of an exit except its exit code.
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

func plural(n int, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}

// some lists at most the given number of names, and how many more there are.
func some(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

package functions

import "github.com/holdfast-project/holdfast/shared/coordination"

// Call is a function and what follows the group's channel in its arguments: strings and integers.
type Call struct {
	Function  string
	Arguments []any
}

// Join reports a living instance; it returns a reply.
func Join(j coordination.Join) Call {
	args := append(instance(j.Member, j.Instance, j.Seen, j.Barrier), j.PodName, j.Node, j.RunsFor, j.GoneFor)
	return Call{FunctionJoin, args}
}

// Down reports a death; it returns a reply.
func Down(d coordination.Down) Call {
	args := append(instance(d.Member, d.Instance, d.Seen, d.Barrier), d.ExitCode, bit(d.Ordered), d.FailedAt, d.DetectedAt,
		d.PodName, d.Node, d.Kind, d.Signal, d.Reason)
	return Call{FunctionDown, args}
}

// Ask requests the recreation of the group; it returns a reply.
func Ask(m coordination.Member, kind string) Call {
	return Call{FunctionAsk, []any{m.Slot, m.Pod, m.PodBorn, kind}}
}

// Open makes the group what o says; it returns a summary.
func Open(o coordination.Open) Call {
	args := []any{
		formatToken(o.Token), o.Incarnation, o.Epoch, o.Limit, formatStages(o.Stages),
		bit(o.Suspended), bit(o.Recover), bit(o.Reset), o.MaxDelay.Milliseconds(),
	}
	for _, slot := range o.Done {
		args = append(args, slot)
	}
	return Call{FunctionOpen, args}
}

// Recreate gives a round up; it returns a summary.
func Recreate(t coordination.Token, epoch, round int64, kind string) Call {
	return Call{FunctionRecreate, []any{formatToken(t), epoch, round, kind}}
}

// Evict takes a pod out of its slot; it returns a summary.
func Evict(t coordination.Token, slot, pod string) Call {
	return Call{FunctionEvict, []any{formatToken(t), slot, pod}}
}

// Drop removes a group.
func Drop(t coordination.Token) Call { return Call{FunctionDrop, []any{formatToken(t)}} }

// Missing lists the slots that have not joined.
func Missing() Call { return Call{Function: FunctionMissing} }

// Summary reads a group; it returns a summary.
func Summary() Call { return Call{Function: FunctionSummary} }

func instance(m coordination.Member, i coordination.Instance, seen coordination.Seen, barrier bool) []any {
	return []any{
		m.Slot, m.Pod, m.PodBorn, i.ID, i.Born,
		seen.Epoch, seen.Round, bit(seen.Holds), bit(seen.Running), bit(seen.Entered), seen.Instances, bit(barrier),
	}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

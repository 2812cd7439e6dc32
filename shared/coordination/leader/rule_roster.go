package leader

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/roster"
	"github.com/holdfast-project/holdfast/shared/series"
)

// Rules for groups whose members come and go. The owner of such a group lists the members in a roster (package roster).
//
//	a new member          enters at the group's round once it has joined; other members are not affected
//	a member leaves       the members in sync with it restart in place once, and not again when another member replaces it
//	a failure             the store handles it: all members restart in place
//	no restarts left      the owner allows more restarts or continues without the member; other members are not stopped in the meantime
//	a member is missing   the owner replaces the pod; the others continue without it
//
// Such a group is never recreated as a whole, so only the owner opens epochs. If the store is waiting for a recreation, the group
// is closed and reopened, which does not stop any member.

const (
	// memberPause limits how long members wait before they restart when previous rounds were short. It equals the default for JobSets.
	memberPause = 32 * time.Second
	// maxSteps limits the step numbers.
	maxSteps = 256
)

// followRoster updates the group to match the roster.
func (p *planner) followRoster() {
	on, g := p.Owner.Roster, p.group
	if on == nil || len(on.Members) == 0 { // a group is left unchanged while its roster has no members
		return
	}
	left := ""
	for _, gone := range p.departed() {
		slot := roster.Slot(gone.Prefix)
		finished, known := p.Reads.Finished[slot]
		if !known {
			p.plan.Need.Finished = append(p.plan.Need.Finished, slot)
		}
		if left == "" && !finished { // a finished member's peers do not restart
			left = gone.Prefix
		}
	}
	if len(p.plan.Need.Finished) > 0 {
		return
	}
	if left != "" && p.isOnRoster() && g.Phase == coordination.Running && g.Round < min(on.Limit, g.Limit) { // releasing it makes its peers restart
		_, pod, _ := roster.ParseMember(left)
		p.released(rounds.Slot{Name: roster.Slot(left), Pod: pod}, "")
		return
	}
	want := group.Wanted{
		Token: p.Token, Generation: on.Epoch, Limit: on.Limit, Stages: p.memberStages(), Suspended: p.isStuck(), Barrier: true, MaxPause: memberPause,
	}
	if r := p.Owner.Report; r != nil && r.Epoch == on.Epoch { // if the store does not have the group, it was lost
		want.Round, want.Entered = min(r.Round, on.Limit), 1
	}
	p.write(want)
}

// isOnRoster reports whether the store has the group of the roster's epoch.
func (p *planner) isOnRoster() bool {
	return p.group != nil && p.group.Generation == p.Owner.Roster.Epoch
}

// departed returns the members that are running in the group but have left the roster.
func (p *planner) departed() []coordination.Stage {
	if p.group == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.group.Stages), func(s coordination.Stage) bool {
		return !p.group.HasEntered(s) || slices.Contains(p.Owner.Roster.Members, s.Prefix)
	})
}

// isStuck reports whether the group could continue but is in a phase that it can leave only by being closed: the member that caused
// the phase has left, or more restarts are allowed.
func (p *planner) isStuck() bool {
	if !p.isOnRoster() {
		return false
	}
	cause := roster.MemberOf(p.group.Record.Cause.Slot)
	gone := cause == "" || !slices.Contains(p.Owner.Roster.Members, cause)
	switch p.group.Phase {
	case coordination.Terminal:
		return (cause != "" && gone) || p.Owner.Roster.Limit > p.group.Round
	case coordination.Recreating:
		return gone
	}
	return false
}

// memberStages returns the group's stages. The members in sync with the group form its first step. Members that arrive later form a
// step of their own, which enters once they have joined. They cannot use an existing step that has entered, because entering is
// permanent. The stages change only when members come or go.
func (p *planner) memberStages() []coordination.Stage {
	on, g := p.Owner.Roster, p.group
	if !p.isOnRoster() || g.Phase == coordination.Forming || len(g.Stages) == 0 { // no member is ahead of the others, so all of them start together
		return allIn(on.Members, 0)
	}
	var first, later, coming []string
	for _, member := range on.Members {
		i := slices.IndexFunc(g.Stages, func(s coordination.Stage) bool { return s.Prefix == member })
		switch {
		case i < 0:
			coming = append(coming, member)
		case g.Stages[i].Step == 0 || g.HasEntered(g.Stages[i]):
			first = append(first, member)
		default:
			later = append(later, member)
		}
	}
	if len(coming) == 0 && len(g.Stages) == len(on.Members) {
		return g.Stages
	}
	step := waitingStep(g)
	stages := append(allIn(first, 0), allIn(later, step)...)
	if step < maxSteps { // otherwise they are added in the next reconcile, when the steps have been renumbered
		stages = append(stages, allIn(coming, step)...)
	}
	if len(stages) == 0 {
		return allIn(on.Members, 0)
	}
	return stages
}

// waitingStep returns the number of the step that has not entered yet or, if there is none, the next unused number.
func waitingStep(g *group.Summary) int64 {
	var step int64
	for _, s := range g.Stages {
		if s.Step > 0 && !g.HasEntered(s) {
			return s.Step
		}
		step = max(step, s.Step)
	}
	return step + 1
}

func allIn(members []string, step int64) []coordination.Stage {
	stages := make([]coordination.Stage, 0, len(members))
	for _, member := range members {
		stages = append(stages, roster.Stage(member, step))
	}
	return stages
}

// report writes the group's state for the owner's controller, which replaces pods that do not rejoin.
func (p *planner) report() {
	text := ""
	if p.Owner.Roster != nil {
		g := p.group
		if g == nil {
			return
		}
		r := roster.Report{Epoch: g.Generation, Round: g.Round, Phase: g.Phase, Size: g.Size, Message: groupText(g)}
		if p.clock != nil {
			r.Deadline = p.clock.Start.Add(p.clock.Period)
		}
		var failures, lost bool
		r.Failures, failures = p.failures()
		r.Lost, lost = p.lostMembers()
		if !failures || !lost {
			return // something must be read first
		}
		text = r.Format()
	}
	if p.Owner.Annotations[roster.ReportAnnotation] != text {
		p.do(Annotate{Report: &text})
	}
}

// failures returns the failures in the last report and those that have occurred since. The store keeps the most recent rounds,
// which are read only if there is a new round.
func (p *planner) failures() ([]roster.Failure, bool) {
	r := cmp.Or(p.Owner.Report, &roster.Report{})
	if r.Epoch == p.group.Generation && r.Round == p.group.Round && r.Phase == p.group.Phase {
		return r.Failures, true
	}
	if !p.Reads.HistoryRead {
		p.plan.Need.History = true
		return nil, false
	}
	return merged(r.Failures, group.Records(nil, p.Reads.History)), true // if the history is unreadable, the next reconcile reads the group again
}

// merged returns the known failures followed by later ones from the records.
func merged(known []roster.Failure, records []coordination.Record) []roster.Failure {
	var last int64
	if n := len(known); n > 0 {
		last = known[n-1].At
	}
	all := slices.Clone(known)
	for _, one := range records {
		c := one.Cause
		member := roster.MemberOf(c.Slot)
		if one.ReportedAt <= last || member == "" || (c.Kind != coordination.KindExit && c.Kind != coordination.KindHang) {
			continue
		}
		last = one.ReportedAt
		all = append(all, roster.Failure{At: one.ReportedAt, Member: member, Kind: c.Kind, Code: c.ExitCode, Signal: c.Signal, Reason: c.Reason})
	}
	return all[max(0, len(all)-roster.MaxFailures):]
}

// lostMembers returns the members that cannot recover in place: those that caused a restart to time out, and those that requested a
// recreation.
func (p *planner) lostMembers() ([]roster.Lost, bool) {
	if cause := p.group.Record.Cause; p.group.Phase == coordination.Recreating {
		return p.onRoster([]string{cause.Slot}, CauseText(cause)), true
	}
	if p.clock == nil || !p.clock.Passed(p.now) {
		return nil, true
	}
	slots, known := p.missing(p.awaited()...)
	if known && (p.Owner.Report == nil || len(p.Owner.Report.Lost) == 0) {
		p.count(series.Timeouts, 1)
	}
	return p.onRoster(slots, fmt.Sprintf("it did not restart in place within %s", p.Owner.Roster.Timeout)), known
}

func (p *planner) onRoster(slots []string, why string) []roster.Lost {
	var list []roster.Lost
	for _, slot := range slots {
		if member := roster.MemberOf(slot); slices.Contains(p.Owner.Roster.Members, member) {
			list = append(list, roster.Lost{Member: member, Why: why})
		}
	}
	return list
}

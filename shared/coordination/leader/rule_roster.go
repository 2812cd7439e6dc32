package leader

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/members"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/roster"
	"github.com/holdfast-project/holdfast/shared/series"
)

// followRoster updates the group to match the roster (package members).
func (p *planner) followRoster() {
	if p.Owner.Roster == nil || len(p.Owner.Roster.Members) == 0 { // a group is left unchanged while its roster has no members
		return
	}
	in := members.Input{Roster: p.Owner.Roster, Group: p.group}
	if r := p.Owner.Report; r != nil && r.Epoch == in.Roster.Epoch {
		in.Known, in.Round = true, r.Round
	}
	if p.group != nil {
		for _, gone := range members.Gone(in.Roster, p.group) {
			slot := roster.Slot(gone.Prefix)
			finished, known := p.Reads.Finished[slot]
			if !known {
				p.plan.Need.Finished = append(p.plan.Need.Finished, slot)
			}
			if finished {
				in.Finished = append(in.Finished, gone.Prefix)
			}
		}
	}
	if len(p.plan.Need.Finished) > 0 {
		return
	}
	if left := in.Left(); left != "" { // releasing it makes its peers restart
		_, pod, _ := roster.ParseMember(left)
		p.released(rounds.Slot{Name: roster.Slot(left), Pod: pod}, "")
		return
	}
	want := in.Want()
	want.Token = p.Token
	p.write(want)
}

// report writes the state of the group for the owner's controller, which replaces pods that do not rejoin.
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

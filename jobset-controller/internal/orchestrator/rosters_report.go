package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/roster"
)

// report says what the group does.
func (r *Rosters) report(ctx context.Context, s *roll) (roster.Report, error) {
	g := s.group
	report := roster.Report{
		Epoch: g.Generation, Round: g.Round, Phase: g.Phase, Size: g.Size, Message: conditionOf(g, 0).Message,
	}
	if s.clock != nil {
		report.Deadline = s.clock.Start.Add(s.clock.Period)
	}
	var err error
	if report.Failures, err = r.failures(ctx, s); err != nil {
		return report, err
	}
	report.Lost, err = r.lost(ctx, s)
	return report, err
}

// failures are those that the last report has, and what came since. The store keeps the newest rounds; it is asked for them only when
// there is a new one.
func (r *Rosters) failures(ctx context.Context, s *roll) ([]roster.Failure, error) {
	var known []roster.Failure
	if s.report != nil {
		known = s.report.Failures
	}
	if s.report != nil && s.report.Epoch == s.group.Generation && s.report.Round == s.group.Round && s.report.Phase == s.group.Phase {
		return known, nil
	}
	lines, err := r.Store.History(ctx, string(s.owner.GetUID()))
	if errors.Is(err, coordination.ErrForeignValue) {
		return known, nil // the next look reads the group anew
	}
	if err != nil {
		return nil, storeFailed(err)
	}
	return merged(known, group.Records(nil, lines)), nil
}

// merged adds the failures that are later than those that are known.
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
		all = append(all, roster.Failure{
			At: one.ReportedAt, Member: member, Kind: c.Kind, Code: c.ExitCode, Signal: c.Signal, Reason: c.Reason,
		})
	}
	return all[max(0, len(all)-roster.MaxFailures):]
}

// lost are the members that do not come back in place: whoever keeps a restart from ending in its time, and whoever asked for more than
// that.
func (r *Rosters) lost(ctx context.Context, s *roll) ([]roster.Lost, error) {
	if cause := s.group.Record.Cause; s.group.Phase == coordination.Recreating {
		return only(s.roster, []string{cause.Slot}, causeText(cause)), nil
	}
	if s.clock == nil || !s.clock.Passed(s.now) {
		return nil, nil
	}
	slots, err := s.group.Missing(ctx, r.Store, string(s.owner.GetUID()))
	if err != nil {
		return nil, storeFailed(err)
	}
	if s.report == nil || len(s.report.Lost) == 0 {
		timeouts.Inc()
	}
	return only(s.roster, slots, fmt.Sprintf("it did not restart in place within %s", s.roster.Timeout)), nil
}

// only those that are on the roster.
func only(on *roster.Roster, slots []string, why string) []roster.Lost {
	var list []roster.Lost
	for _, slot := range slots {
		if member := roster.MemberOf(slot); slices.Contains(on.Members, member) {
			list = append(list, roster.Lost{Member: member, Why: why})
		}
	}
	return list
}

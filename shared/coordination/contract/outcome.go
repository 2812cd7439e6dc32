package contract

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

const group = "uid-1"

// runner runs steps on one store.
type runner struct {
	Harness
	saved func()
}

// Outcome is all that can be seen of a step, and of the group after it.
type Outcome struct {
	Err     string // kind of the error, "" if none
	Reply   coordination.Reply
	Exists  bool
	Summary coordination.Summary
	Missing []string
	Fenced  []string
	History []coordination.Record
}

func (r *runner) run(s Step) Outcome {
	ctx := context.Background()
	var o Outcome
	var err error
	o.Reply, err = r.call(ctx, s)
	o.Err = errorKind(err)
	summary, err := r.Store.Summary(ctx, group)
	if errors.Is(err, coordination.ErrNoGroup) {
		return o
	}
	history, errHistory := r.Store.History(ctx, group)
	missing, errMissing := r.Store.Missing(ctx, group)
	fenced, errFenced := r.Store.Fenced(ctx, group, allPods())
	if err := errors.Join(err, errHistory, errMissing, errFenced); err != nil {
		o.Err += fmt.Sprintf(" and then %v", err)
	}
	o.Exists, o.Summary, o.Missing, o.History, o.Fenced = true, summary, missing, history, fenced
	return o
}

func (r *runner) call(ctx context.Context, s Step) (reply coordination.Reply, err error) {
	switch s.Verb {
	case "open":
		_, err = r.Store.Open(ctx, group, s.Open)
	case "recreate":
		_, err = r.Store.Recreate(ctx, group, s.Open.Token, s.Open.Epoch, s.Round, s.Kind)
	case "evict":
		m, _ := speaker(s.Who)
		_, err = r.Store.Evict(ctx, group, s.Open.Token, m.Slot, m.Pod)
	case "drop":
		err = r.Store.Drop(ctx, group, s.Open.Token)
	case "save":
		r.saved = r.Save()
	case "restore":
		if r.saved != nil {
			r.saved()
		}
	case "lose":
		r.Lose()
	default:
		return r.report(ctx, s)
	}
	return reply, err
}

// allPods are those that a random sequence may speak of.
func allPods() []string {
	var pods []string
	for _, stage := range []string{"", "x"} {
		for slot := range 3 {
			for pod := range 3 {
				m, _ := speaker(fmt.Sprintf("%s%da@%d", stage, slot, pod+1))
				pods = append(pods, m.Pod)
			}
		}
	}
	return pods
}

// farAhead is beyond what the clock of a node may be ahead.
const farAhead = 48 * time.Hour

func (r *runner) report(ctx context.Context, s Step) (coordination.Reply, error) {
	m, i := speaker(s.Who)
	failed, detected := int64(11), int64(12)
	switch later := time.Now().Add(farAhead); s.Ahead {
	case "pod":
		m.PodBorn = later.UnixMicro()
	case "instance":
		i.Born = later.UnixMicro()
	case "failed":
		failed = later.UnixMilli()
	case "detected":
		detected = later.UnixMilli()
	}
	switch s.Verb {
	case "join":
		return r.Store.Join(ctx, group, coordination.Join{
			Member: m, Instance: i, Barrier: s.Barrier, Seen: s.Seen, RunsFor: s.RunsFor, GoneFor: s.GoneFor,
		})
	case "down":
		return r.Store.Down(ctx, group, coordination.Down{
			Member: m, Instance: i, Barrier: s.Barrier, ExitCode: s.Code, Ordered: s.Ordered,
			FailedAt: failed, DetectedAt: detected, Seen: s.Seen, Exit: s.Exit,
		})
	case "ask":
		return r.Store.Ask(ctx, group, m, s.Kind)
	}
	panic("no such step: " + s.Verb)
}

var kinds = map[string]error{
	"fenced": coordination.ErrFenced, "nogroup": coordination.ErrNoGroup, "unknownslot": coordination.ErrUnknownSlot,
	"staleleader": coordination.ErrStaleLeader, "staleepoch": coordination.ErrStaleEpoch, "foreign": coordination.ErrForeignValue,
}

func errorKind(err error) string {
	if err == nil {
		return ""
	}
	for kind, sentinel := range kinds {
		if errors.Is(err, sentinel) {
			return kind
		}
	}
	return "error"
}

package valkey

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// Join implements coordination.Agent.
func (s *Store) Join(ctx context.Context, group string, j coordination.Join) (coordination.Reply, error) {
	args := append(instanceArgs(j.Member, j.Instance, j.Seen, j.Barrier), j.PodName, j.Node, j.RunsFor, readsNewest, j.GoneFor)
	return reply(s.asMember(ctx, functionJoin, group, args...))
}

// Down implements coordination.Agent.
func (s *Store) Down(ctx context.Context, group string, d coordination.Down) (coordination.Reply, error) {
	args := append(instanceArgs(d.Member, d.Instance, d.Seen, d.Barrier), d.ExitCode, bit(d.Ordered), d.FailedAt, d.DetectedAt,
		d.PodName, d.Node, d.Kind, d.Signal, d.Reason, readsNewest)
	return reply(s.asMember(ctx, functionDown, group, args...))
}

// Ask implements coordination.Agent.
func (s *Store) Ask(ctx context.Context, group string, m coordination.Member, kind string) (coordination.Reply, error) {
	return reply(s.asMember(ctx, functionAsk, group, m.Slot, m.Pod, m.PodBorn, kind))
}

// readsNewest tells the store that Reply.Newest is understood: agents that came before it take a reply with one more field
// for a foreign value.
const readsNewest = 1

func instanceArgs(m coordination.Member, i coordination.Instance, seen coordination.Seen, barrier bool) []any {
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

func reply(cmd *redis.Cmd, version int64) (coordination.Reply, error) {
	fields, err := cmd.StringSlice()
	if err != nil {
		return coordination.Reply{}, asAgent(err)
	}
	return parseReply(version, fields)
}

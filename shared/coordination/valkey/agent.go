package valkey

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/functions"
)

// Join implements coordination.Agent.
func (s *Store) Join(ctx context.Context, group string, j coordination.Join) (coordination.Reply, error) {
	return s.reply(ctx, s.call(ctx, group, functions.Join(j)))
}

// Down implements coordination.Agent.
func (s *Store) Down(ctx context.Context, group string, d coordination.Down) (coordination.Reply, error) {
	return s.reply(ctx, s.call(ctx, group, functions.Down(d)))
}

// Ask implements coordination.Agent.
func (s *Store) Ask(ctx context.Context, group string, m coordination.Member, kind string) (coordination.Reply, error) {
	return s.reply(ctx, s.call(ctx, group, functions.Ask(m, kind)))
}

func (s *Store) reply(ctx context.Context, cmd *redis.Cmd) (coordination.Reply, error) {
	fields, err := cmd.StringSlice()
	if err != nil {
		return coordination.Reply{}, s.asAgent(ctx, err)
	}
	return functions.ParseReply(fields)
}

package valkey

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// The test makes every call that leaders and members make, with their store users.
func TestRulesAreSufficient(t *testing.T) {
	server := newGuardedServer(t)
	leader := server.as(t, "leader", leaderPassword, patient)
	useLeader(t, server, leader, server.agentOf(t, uid, patient))
	for _, rule := range leaderRules() {
		command, isCommand := strings.CutPrefix(rule, "+")
		if isCommand && command != "auth" && // clients that use the older protocol send it instead of hello
			!slices.ContainsFunc(server.commands(), func(used string) bool {
				return used == command || strings.HasPrefix(used, command+"|")
			}) {
			t.Errorf("no user needs the permission for %s", command)
		}
	}
}

func TestOpenRulesAreSufficient(t *testing.T) {
	server := newGuardedServer(t)
	args := []any{"ACL", "SETUSER", "default", "on", "nopass"}
	for _, rule := range rounds.MemberRules("*") {
		args = append(args, rule)
	}
	server.do(args...)
	open := server.store(t, patient)
	useLeader(t, server, server.as(t, "leader", leaderPassword, patient), open)
	mustOpen(t, server.leader(t), "uid-2")
	if _, _, err := open.Call(t.Context(), "uid-2", aJoin(0)); err != nil {
		t.Errorf("a join in another group: %v", err)
	}
	for name, command := range map[string][]any{
		"a larger budget":                {"HSET", rounds.KeysOf(uid).Config(), "limit", 99},
		"the deletion of all data":       {"FLUSHALL"},
		"a subscription to all channels": {"PSUBSCRIBE", "*"},
		"another function":               {"FCALL", rounds.FunctionSet, 1, rounds.KeysOf(uid).State(), "9 9", "", aState().String(), "inc", "A", "gen", 1, "limit", 1, "delay", 0},
	} {
		if err := open.client.Do(t.Context(), command...).Err(); err == nil || !strings.HasPrefix(err.Error(), "NOPERM") {
			t.Errorf("%s: %v, want NOPERM", name, err)
		}
	}
}

// useLeader makes every call of both interfaces.
func useLeader(t *testing.T, server *server, leader, member *Store) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	heard, ended := make(chan string, 100), make(chan struct{})
	go func() {
		defer close(ended)
		leader.WatchAll(ctx, func(group string) { heard <- group })
	}()
	defer func() { cancel(); <-ended }()
	if group := <-heard; group != "" {
		t.Errorf("the first notification is for %q", group)
	}
	w := watchGroup(t, member, uid)
	w.awaitCount(t, 1)
	mustOpen(t, leader)
	if group := <-heard; group != uid {
		t.Errorf("notified of %q", group)
	}
	if o := member.Observe(ctx, uid, slotOf(1)); o.Err != nil || o.Place.Pods != 2 {
		t.Errorf("a place: %+v", o)
	}
	for _, call := range memberCalls() {
		mustCall(t, member, call)
	}
	w.await(t, "the request", func(all []rounds.Observation) bool { return all[len(all)-1].Level.Phase == rounds.Recreate })

	state, config := aState(), aConfig(2)
	state.Generation, config.Generation, state.Entered = 2, 2, 1
	state.Incarnation, config.Incarnation = "B", "B"
	finished := []rounds.FinishedSlot{{Slot: slotOf(1).Name}}
	_, err := leader.Set(ctx, uid, stateOf(t, leader, uid), state, config, finished, &rounds.Line{Generation: 2, Slot: "-", Cause: "recreated"})
	check(t, "writing", err)
	mustCall(t, member, rounds.Join("B", 0, 0, 1, memberOf(0)))
	check(t, "releasing", leader.Release(ctx, uid, token, state.Level, 0, slotOf(0), "w-0 pod", rounds.Slot{}))
	stored, err := leader.Read(ctx, uid)
	check(t, "reading", err)
	if stored == nil || stored.State.Round != 1 || stored.State.Generation != 2 {
		t.Errorf("read %+v", stored)
	}
	joined, err := leader.Look(ctx, uid, rounds.KeysOf(uid).Joined(state.Level, 0), []string{slotOf(0).Name, slotOf(1).Name})
	check(t, "joined", err)
	if len(joined) != 0 { // the round was reopened
		t.Errorf("joined: %v", joined)
	}
	lines, err := leader.History(ctx, uid)
	check(t, "the history", err)
	if len(lines) < 2 {
		t.Errorf("history: %+v", lines)
	}
	usage, err := leader.Tidy(ctx)
	check(t, "tidying", err)
	if len(usage) != 1 || usage[uid] == 0 {
		t.Errorf("usage: %v", usage)
	}
	users, err := leader.Users(ctx)
	check(t, "the users", err)
	check(t, "writing users", leader.SetUsers(ctx, map[string][]string{"uid-3": {sha("p")}}))
	check(t, "dropping a user", leader.DropUser(ctx, "uid-3"))
	if after, _ := leader.Users(ctx); len(after) != len(users) {
		t.Errorf("users %v, before %v", after, users)
	}
	check(t, "dropping", leader.Drop(ctx, uid))
	if left := server.dump(); len(left) != 0 {
		t.Errorf("keys left after the drop: %v", left)
	}
	if o := member.Observe(ctx, uid, slotOf(1)); !errors.Is(o.Err, coordination.ErrNoGroup) {
		t.Errorf("a place in a dropped group: %v", o.Err)
	}
	mustOpen(t, leader)
}

func check(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// asUser returns a client whose user has the given rules.
func (s *server) asUser(t *testing.T, rules []string) *Store {
	t.Helper()
	args := []any{"ACL", "SETUSER", "agent", "reset", "on", ">secret"}
	for _, r := range rules {
		args = append(args, r)
	}
	s.do(args...)
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	return s.store(t, func(o *Options) { o.Username, o.PasswordFile, o.ClientName = "agent", file, "agent" })
}

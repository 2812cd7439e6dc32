package valkey

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// victim is the group that is attacked by a member of another group, uid.
const victim = "uid-2"

// siege is a server with two running groups. The attacker is a member of the first group and has only that group's credentials.
type siege struct {
	*testing.T
	*server
	leader  *Store
	mallory *Store // a member of uid
	alice   *Store // a member of the victim
	watch   *watching
	flooded int
}

func besiege(t *testing.T, args ...string) *siege {
	t.Helper()
	server := newGuardedServer(t, args...)
	s := &siege{
		T: t, server: server, leader: server.as(t, "leader", leaderPassword, patient),
		mallory: server.agentOf(t, uid, patient), alice: server.agentOf(t, victim, patient),
	}
	mustOpen(t, s.leader, uid, victim)
	mustJoin(t, s.mallory)
	for n := range 2 {
		if _, _, err := s.alice.Call(t.Context(), victim, aJoin(n)); err != nil {
			t.Fatal(err)
		}
	}
	s.watch = watchGroup(t, s.alice, victim)
	s.watch.awaitCount(t, 1)
	return s
}

// expectVictimUnharmed checks that nothing was published to the victim's members and that a death among them is handled as usual.
func (s *siege) expectVictimUnharmed() {
	s.Helper()
	for _, o := range s.watch.observed() {
		if o.Err != nil || o.Level.Round != 0 || !o.Level.Running() {
			s.Errorf("the victim's members observed %+v", o)
		}
	}
	_, now, err := s.alice.Call(s.Context(), victim, aDeath(0))
	if err != nil || !now.Restarting() || now.Round != 1 {
		s.Errorf("a death in the victim's group: %s, %v", now, err)
	}
	if _, err := s.leader.Read(s.Context(), victim); err != nil {
		s.Errorf("the leader's view of the victim: %v", err)
	}
}

// fcall returns a call with a key of the caller's choice.
func fcall(key string, c rounds.Call) []any {
	return append([]any{"FCALL", c.Function, 1, key}, c.Arguments...)
}

func TestForbiddenActionsOfAMember(t *testing.T) {
	s := besiege(t)
	mine, theirs := rounds.KeysOf(uid), rounds.KeysOf(victim)
	level := aState().Level
	forged := rounds.Join("A", 0, 0, 0, rounds.Member{Slot: slotOf(0), ID: "forged", Attempt: 99})
	before := s.dump()
	all := map[string][]any{
		"a forged report":                                       fcall(theirs.State(), forged),
		"a forged death":                                        fcall(theirs.State(), aDeath(0)),
		"a forged loss":                                         fcall(theirs.State(), rounds.Lost("A", 0, slotOf(0), 9, 1)),
		"a forged success":                                      fcall(theirs.State(), rounds.Finish("A", 0, slotOf(0), "i-0", true)),
		"a forged request":                                      fcall(theirs.State(), rounds.Ask("A", 0, slotOf(0), "gap")),
		"a report with another prefix":                          fcall("x:s", forged),
		"a leader's write to the member's own group":            fcall(mine.State(), rounds.Set("", aState(), aConfig(1))),
		"a fence in the member's own group":                     fcall(mine.State(), rounds.Release(token, "A", 0, slotOf(0), "w-0 pod", rounds.Slot{})),
		"a read-only call":                                      {"FCALL_RO", rounds.FunctionVersion, 0},
		"a larger budget":                                       {"HSET", mine.Config(), "limit", 99},
		"the removal of a fence":                                {"HDEL", mine.Config(), "x:pod-0"},
		"the deletion of the leader's data":                     {"UNLINK", mine.Config()},
		"a write to another group's configuration":              {"HSET", theirs.Config(), "limit", 99},
		"a write to another group's state":                      {"SET", theirs.State(), "x"},
		"a write to another group's holders":                    {"HSET", theirs.Holders(1), "js-w-0-0", "x"},
		"a write to another group's joins":                      {"HSET", theirs.Joined(level, 0), "js-w-0-0", "x"},
		"a write to another group's finished workers":           {"HSETNX", theirs.Finished(level, 0), "js-w-0-0", "x"},
		"a write to another group's history":                    {"HSET", theirs.History(), "1", "x"},
		"the deletion of another group's state":                 {"UNLINK", theirs.State()},
		"a read of another group's state":                       {"GETRANGE", theirs.State(), 0, 9},
		"a read of another group's configuration":               {"HGET", theirs.Config(), "inc"},
		"a check for the existence of another group":            {"HLEN", theirs.Config()},
		"a write to an unrelated key":                           {"HSET", "mine", "a", "b"},
		"a write to an unused key of the group":                 {"HSET", "hf2:{" + uid + "}:y", "a", "b"},
		"a message to another group":                            {"PUBLISH", theirs.Channel(), level.String()},
		"a wake-up for another group":                           {"PUBLISH", theirs.WakeUps(), ""},
		"a message to a channel that contains the member's UID": {"PUBLISH", "hf2:{" + victim + "}:{" + uid + "}:c", "x"},
		"a subscription to another group":                       {"SUBSCRIBE", theirs.Channel()},
		"a subscription to all groups":                          {"PSUBSCRIBE", "*"},
		"a pattern subscription to the member's own group":      {"PSUBSCRIBE", mine.Channel()},
		"flushing everything":                                   {"FLUSHALL"},
		"flushing the database":                                 {"FLUSHDB", "ASYNC"},
		"swapping databases":                                    {"SWAPDB", 0, 1},
		"another database":                                      {"SELECT", 1},
		"the settings":                                          {"CONFIG", "GET", "*"},
		"the folder of the dump":                                {"CONFIG", "SET", "dir", "/tmp"},
		"the counters":                                          {"CONFIG", "RESETSTAT"},
		"a sleep":                                               {"DEBUG", "SLEEP", "10"},
		"a crash":                                               {"DEBUG", "SEGFAULT"},
		"a shutdown":                                            {"SHUTDOWN", "NOSAVE"},
		"another master":                                        {"REPLICAOF", "127.0.0.1", "1"},
		"a busy script":                                         {"EVAL", "while true do end", 0},
		"a busy script that reads":                              {"EVAL_RO", "while true do end", 0},
		"a loaded script":                                       {"EVALSHA", strings.Repeat("0", 40), 0},
		"loading a script":                                      {"SCRIPT", "LOAD", "return 1"},
		"loading a library":                                     {"FUNCTION", "LOAD", "#!lua name=evil\nredis.register_function('evil', function() while true do end end)"},
		"replacing the library":                                 {"FUNCTION", "LOAD", "REPLACE", "#!lua name=holdfast2\nredis.register_function('hf2_join', function() return 1 end)"},
		"the deletion of all functions":                         {"FUNCTION", "FLUSH"},
		"the code of all functions":                             {"FUNCTION", "LIST", "WITHCODE"},
		"killing a running function":                            {"FUNCTION", "KILL"},
		"more rights":                                           {"ACL", "SETUSER", coordination.UserOf(uid), "+@all", "~*"},
		"another user":                                          {"ACL", "SETUSER", "mallory", "on", "nopass", "+@all"},
		"the deletion of another user":                          {"ACL", "DELUSER", coordination.UserOf(victim)},
		"the list of users":                                     {"ACL", "LIST"},
		"monitoring other clients":                              {"MONITOR"},
		"closing other clients' connections":                    {"CLIENT", "KILL", "TYPE", "normal"},
		"closing the leader's connections":                      {"CLIENT", "KILL", "USER", "leader"},
		"pausing all clients":                                   {"CLIENT", "PAUSE", "10000"},
		"the list of connections":                               {"CLIENT", "LIST"},
		"all keys":                                              {"KEYS", "*"},
		"a scan of all keys":                                    {"SCAN", 0},
		"some key":                                              {"RANDOMKEY"},
		"restoring a value":                                     {"RESTORE", mine.State(), 0, "x"},
		"migrating a value":                                     {"MIGRATE", "127.0.0.1", "1", mine.State(), 0, 10},
		"a copy of the member's own state":                      {"COPY", mine.State(), "copy"},
		"renaming the member's own state":                       {"RENAME", mine.State(), theirs.State()},
		"an expiry for the member's own state":                  {"EXPIRE", mine.State(), 1},
		"a long text":                                           {"APPEND", mine.State(), "x"},
		"a longer text":                                         {"SETRANGE", mine.State(), 1 << 29, "x"},
		"a dump":                                                {"SAVE"},
		"a dump in the background":                              {"BGSAVE"},
		"rewriting the append-only file":                        {"BGREWRITEAOF"},
		"a module":                                              {"MODULE", "LOAD", "/tmp/x.so"},
		"a wait":                                                {"BLPOP", mine.History(), 0},
		"a transaction":                                         {"MULTI"},
		"the server's state":                                    {"INFO"},
		"the slow log":                                          {"SLOWLOG", "GET"},
		"tracking":                                              {"CLIENT", "TRACKING", "ON", "BCAST"},
		"resetting the cluster":                                 {"CLUSTER", "RESET"},
		"a replica's stream":                                    {"PSYNC", "?", -1},
	}
	for name, command := range all {
		err := s.mallory.client.Do(t.Context(), command...).Err()
		var reply redis.Error
		if !errors.As(err, &reply) || !refused(reply.Error()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	expectDump(t, s.server, before)
	if n := len(s.leaderUsers()); n != 2 {
		t.Errorf("%d users, want 2", n)
	}
	s.expectVictimUnharmed()
}

// refused reports whether the server rejected a call because the caller or a function lacks permission.
func refused(reply string) bool {
	return strings.HasPrefix(reply, "NOPERM") || strings.Contains(reply, "can't access") || strings.Contains(reply, "No permissions") ||
		strings.Contains(reply, "command not allowed")
}

func (s *siege) leaderUsers() map[string][]string {
	s.Helper()
	users, err := s.leader.Users(context.Background())
	if err != nil {
		s.Fatal(err)
	}
	return users
}

// A member can do anything with the keys and channels that it is allowed to write. See docs/security.md.
func TestAllowedActionsOfAMemberStayInItsGroup(t *testing.T) {
	mine, level := rounds.KeysOf(uid), aState().Level
	level.Round, level.Seq = 99, 99
	for name, commands := range map[string][][]any{
		"it writes another round":          {{"SET", mine.State(), strings.Replace(aState().String(), aState().Level.String(), level.String(), 1)}},
		"it writes an unreadable state":    {{"SET", mine.State(), "x"}},
		"it deletes everything":            {{"UNLINK", mine.State(), mine.Holders(1), mine.Joined(level, 0), mine.History(), mine.FirstDeath()}},
		"it replaces a string with a hash": {{"UNLINK", mine.State()}, {"HSET", mine.State(), "a", "b"}},
		"it writes another group's pods":   {{"HSET", mine.Holders(1), "js-w-0-0", "pod-of-another", "js-w-9-9", "x"}},
		"it creates additional tables":     {{"HSET", mine.Holders(7), "a", "b"}, {"SET", mine.Joined(level, 9), "x"}},
		"it publishes invalid messages":    {{"PUBLISH", mine.Channel(), "x"}, {"PUBLISH", mine.Channel(), strings.Repeat("x", 1<<20)}},
		"it publishes an order":            {{"PUBLISH", mine.Channel(), level.String()}},
		"it wakes the leader":              {{"PUBLISH", mine.WakeUps(), strings.Repeat("x", 1<<20)}},
		"it requests a recreation":         {fcall(mine.State(), rounds.Ask("A", 0, slotOf(0), "gap"))},
	} {
		t.Run(name, func(t *testing.T) {
			s := besiege(t)
			others := s.dumpOfOthers()
			for _, command := range commands {
				if err := s.mallory.client.Do(t.Context(), command...).Err(); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := s.leader.Tidy(t.Context()); err != nil {
				t.Errorf("Tidy as the leader: %v", err)
			}
			if fmt.Sprint(others) != fmt.Sprint(s.dumpOfOthers()) {
				t.Errorf("something changed outside its group")
			}
			s.expectVictimUnharmed()
		})
	}
}

// dumpOfOthers returns all data outside the member's group.
func (s *siege) dumpOfOthers() map[string]string {
	all := s.dump()
	for key := range all {
		if strings.Contains(key, uid) {
			delete(all, key)
		}
	}
	return all
}

// By default, the server samples only five elements of a key to measure it.
func TestLargeElementsAmongSmallOnesAreCounted(t *testing.T) {
	s := besiege(t)
	const few, large = 500, 8
	elements := make([]any, 0, 2*(few+large))
	for n := range few {
		elements = append(elements, fmt.Sprint("small-", n), "x")
	}
	for n := range large {
		elements = append(elements, fmt.Sprint("large-", n), strings.Repeat("x", 1<<20))
	}
	if err := s.mallory.client.HSet(t.Context(), rounds.KeysOf(uid).History(), elements...).Err(); err != nil {
		t.Fatal(err)
	}
	usage, err := s.leader.Tidy(t.Context())
	if err != nil || usage[uid] < large<<20 {
		t.Errorf("usage %v, error %v; want more than %d", usage, err, large<<20)
	}
	lines, err := s.leader.History(t.Context(), uid)
	if err != nil || len(lines) != 0 {
		t.Errorf("history %v, error %v; want none", lines, err)
	}
}

// Large values that a member has written instead of pods, joins and lines are neither sent to the leader nor read by it.
func TestLeaderReadsNoLargeValues(t *testing.T) {
	s := besiege(t)
	k, level, slots := rounds.KeysOf(uid), aState().Level, []string{slotOf(0).Name, slotOf(1).Name}
	for key, field := range map[string]string{k.Holders(1): slots[0], k.Joined(level, 0): slots[0], k.Finished(level, 0): slots[0], k.History(): "0"} {
		if err := s.mallory.client.HSet(t.Context(), key, field, strings.Repeat("x", largeValue)).Err(); err != nil {
			t.Fatal(err)
		}
	}
	s.do("CONFIG", "RESETSTAT")
	holders, err := s.leader.Look(t.Context(), uid, k.Holders(1), slots)
	if want := map[string]string{slots[1]: slotOf(1).Pod}; err != nil || !maps.Equal(holders, want) {
		t.Errorf("holders %.80v, %v; want %v", holders, err, want)
	}
	joined, err := s.leader.Look(t.Context(), uid, k.Joined(level, 0), slots)
	if err != nil || len(joined) != 1 || joined[slots[1]] == "" {
		t.Errorf("joined %v, %v", joined, err)
	}
	finished, err := s.leader.Look(t.Context(), uid, k.Finished(level, 0), slots)
	if err != nil || len(finished) != 0 {
		t.Errorf("finished %v, %v", finished, err)
	}
	lines, err := s.leader.History(t.Context(), uid)
	if err != nil || len(lines) != 0 {
		t.Errorf("history %.80v, %v", lines, err)
	}
	if _, err := s.leader.Read(t.Context(), uid); err != nil {
		t.Error(err)
	}
	var sent int
	_, after, _ := strings.Cut(s.admin.Info(t.Context(), "stats").Val(), "total_net_output_bytes:")
	if _, err := fmt.Sscan(after, &sent); err != nil || sent > 1<<16 {
		t.Errorf("the server has sent %d bytes, %v", sent, err)
	}
}

const manyWrites = 1_000_000

// A member fills its own tables. The memory usage of its group shows this, and the member can be cut off.
func TestMillionWrites(t *testing.T) {
	s := besiege(t)
	s.flood(manyWrites, 1000, "x")
	s.expectVictimUnharmed()
	s.do("CONFIG", "RESETSTAT")
	usage, err := s.leader.Tidy(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if m := s.stats()["memory|usage"]; float64(m.calls)*m.usec > 50_000 { // it would take 160 ms if everything were measured
		t.Errorf("%d keys were measured in %.0f us each", m.calls, m.usec)
	}
	if usage[uid] < manyWrites*10 || usage[victim] > 1<<20 || len(usage) != 2 {
		t.Errorf("usage %v", usage)
	}
	s.cutOff()
	if left, err := s.leader.Tidy(t.Context()); err != nil || left[uid] != 0 {
		t.Errorf("after it was cut off: %v, %v", left, err)
	}
	if _, err := s.leader.Read(t.Context(), victim); err != nil {
		t.Error(err)
	}
}

// When the server's memory is full, all reports fail, which is an outage for all agents. The leader can still cut off the group
// that caused it, and then the other groups continue.
func TestFullServer(t *testing.T) {
	s := besiege(t, "--maxmemory", "32mb", "--maxmemory-policy", "noeviction")
	for full := false; !full; { // until it is completely full, because the memory used by the flood's own calls is freed afterwards
		s.flood(1000, 100, strings.Repeat("x", 1000))
		s.flood(1000, 1, "x")
		full = second(s.alice.Call(t.Context(), victim, aJoin(0))) != nil
	}
	err := second(s.alice.Call(t.Context(), victim, aDeath(0)))
	if err == nil || errors.Is(err, coordination.ErrForeignValue) || errors.Is(err, coordination.ErrNoGroup) {
		t.Errorf("a report to a full server: %v, want an outage", err)
	}
	s.cutOff()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // the server frees memory in the background
		err := second(s.alice.Call(t.Context(), victim, aJoin(0)))
		if err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	s.expectVictimUnharmed()
}

// flood writes n fields to one of the member's tables, in batches, until the server rejects a batch.
func (s *siege) flood(n, batch int, value string) {
	s.Helper()
	for from := 0; from < n; from += batch {
		args := make([]any, 0, 2*batch)
		for range batch {
			s.flooded++
			args = append(args, fmt.Sprint("slot-", s.flooded), value)
		}
		if err := s.mallory.client.HSet(s.Context(), rounds.KeysOf(uid).Joined(aState().Level, 0), args...).Err(); err != nil {
			if !strings.Contains(err.Error(), "OOM") {
				s.Fatal(err)
			}
			return
		}
	}
}

// cutOff does what the leader does to a member that uses too much memory.
func (s *siege) cutOff() {
	s.Helper()
	if err := errors.Join(s.leader.DropUser(s.Context(), uid), s.leader.Drop(s.Context(), uid)); err != nil {
		s.Fatal(err)
	}
	if err := s.mallory.client.HSet(s.Context(), rounds.KeysOf(uid).Joined(aState().Level, 0), "a", "b").Err(); err == nil {
		s.Error("the member can still write")
	}
}

// On four connections, one tenant makes the most expensive calls that it can, on forged tables of 100,000 slots and values of 8
// MiB, while a worker of another tenant dies repeatedly.
func TestDeathIsAnsweredUnderAttack(t *testing.T) {
	s := besiege(t)
	calls := s.forge(uid)
	key := rounds.KeysOf(uid).State()
	state := s.do("GET", key)
	ctx, stop := context.WithCancel(t.Context())
	var attackers sync.WaitGroup
	for range 4 {
		mallory := s.agentOf(t, uid, patient)
		attackers.Go(func() {
			for ctx.Err() == nil {
				for _, c := range calls {
					_ = mallory.client.Set(ctx, key, state, 0).Err() // so that the next call does all the work again
					_ = mallory.client.Do(ctx, fcall(key, c)...).Err()
				}
			}
		})
	}
	s.do("CONFIG", "RESETSTAT")
	const deaths = 100
	var worst time.Duration
	for round := range int64(deaths) {
		d := rounds.Death{Slot: slotOf(0), ID: fmt.Sprint("i-", round), Round: round, Ran: true, Cause: "exit 1"}
		if round == 0 {
			d.ID = memberOf(0).ID
		}
		began := time.Now()
		_, now, err := s.alice.Call(t.Context(), victim, rounds.Down("A", 0, d))
		worst = max(worst, time.Since(began))
		if err != nil || now.Round != round+1 {
			t.Fatalf("a death in round %d: %s, %v", round, now, err)
		}
		for n := range 2 {
			m := memberOf(n)
			m.ID, m.Attempt = fmt.Sprint("i-", round+1), round+2
			if err := second(s.alice.Call(t.Context(), victim, rounds.Join("A", 0, round+1, 1, m))); err != nil {
				t.Fatal(err)
			}
		}
	}
	stats := s.stats()["fcall"]
	stop()
	attackers.Wait()
	t.Logf("%d deaths answered, each within %s, among %d calls of %.0f us on average", deaths, worst, stats.calls, stats.usec)
	if _, err := s.leader.Tidy(t.Context()); err != nil {
		t.Error(err)
	}
}

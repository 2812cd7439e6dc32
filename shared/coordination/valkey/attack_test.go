package valkey

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/contract"
	"github.com/holdfast-project/holdfast/shared/coordination/functions"
)

// victim is the group that the member of another one, uid, is after.
const victim = "uid-2"

// siege is a server with two groups in sync, and a member of the first with nothing but its credentials.
type siege struct {
	*testing.T
	*server
	leader  *Store
	mallory *Store // a member of uid
	alice   *Store // a member of the victim
	watch   *contract.Watching
	flooded int
}

func besiege(t *testing.T, args ...string) *siege {
	t.Helper()
	server := newGuardedServer(t, args...)
	s := &siege{
		T: t, server: server, leader: server.as(t, "leader", leaderPassword, patient),
		mallory: server.agentOf(t, uid, patient), alice: server.agentOf(t, victim, patient),
	}
	for group, member := range map[string]*Store{uid: s.mallory, victim: s.alice} {
		if _, err := s.leader.Open(t.Context(), group, anOpening()); err != nil {
			t.Fatal(err)
		}
		for _, slot := range []string{"0", "1"} {
			if _, err := member.Join(t.Context(), group, aJoin(slot)); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.watch = contract.Watch(t, s.alice, victim)
	s.watch.AwaitCount(t, 1)
	return s
}

// expectVictimUnharmed: nothing was said to the victim's members, and a failure of theirs is answered as ever.
func (s *siege) expectVictimUnharmed() {
	s.Helper()
	for _, o := range s.watch.Seen() {
		if o.Err != nil || o.Level.Round != 0 || o.Level.Phase != coordination.Running {
			s.Errorf("the victim's members saw %+v", o)
		}
	}
	j := aJoin("0")
	reply, err := s.alice.Down(s.Context(), victim, coordination.Down{Member: j.Member, Instance: j.Instance, ExitCode: 1, Seen: coordination.Unseen()})
	if err != nil || reply.Level.Phase != coordination.Restarting || reply.Level.Round != 1 {
		s.Errorf("a death in the victim's group: %+v, %v", reply, err)
	}
	if _, err := s.leader.Summary(s.Context(), victim); err != nil {
		s.Errorf("the leader's view of the victim: %v", err)
	}
}

// fcall is a call of a function with keys and a channel of the caller's choice.
func fcall(function string, on []string, channel string, args ...any) []any {
	call := []any{"FCALL", functions.Name(function), len(on)}
	for _, key := range on {
		call = append(call, key)
	}
	return append(append(call, channel), args...)
}

func TestWhatAMemberMayNotDo(t *testing.T) {
	s := besiege(t)
	j := aJoin("0")
	j.ID, j.Born = "forged", 99
	instance := functions.Join(j).Arguments[:12]
	join, down := append(slices.Clone(instance), "", "", 0, 0), append(slices.Clone(instance), 1, 0, 0, 0, "", "", "", 0, "")
	mine, theirs := functions.Keys(uid), functions.Keys(victim)
	mixed := []string{mine[0], theirs[1], mine[2], mine[3]}
	before := s.dump()
	all := map[string][]any{
		"a forged report":                          fcall(functions.FunctionJoin, theirs, functions.Channel(victim), join...),
		"a forged report to one's own channel":     fcall(functions.FunctionJoin, theirs, functions.Channel(uid), join...),
		"a report with a key of another group":     fcall(functions.FunctionJoin, mixed, functions.Channel(uid), join...),
		"a report that is told to another group":   fcall(functions.FunctionJoin, mine, functions.Channel(victim), join...),
		"a forged death":                           fcall(functions.FunctionDown, theirs, functions.Channel(victim), down...),
		"a read of another group":                  fcall(functions.FunctionSummary, theirs, functions.Channel(victim)),
		"an order of the leader's to one's own":    fcall(functions.FunctionOpen, mine, functions.Channel(uid), "9 9", "B", 2, 5, "js-w 1 2 0 held", 0, 0, 0),
		"an eviction from one's own":               fcall(functions.FunctionEvict, mine, functions.Channel(uid), "9 9", "js-w-0-0", "pod-0"),
		"an end of one's own":                      fcall(functions.FunctionDrop, mine, functions.Channel(uid), "9 9"),
		"a look at all slots":                      fcall(functions.FunctionMissing, mine, functions.Channel(uid)),
		"a read-only call":                         {"FCALL_RO", "hf1_summary", 0},
		"a write to another group's state":         {"HSET", theirs[0], "phase", "Restarting"},
		"a write to another group's slots":         {"HSET", theirs[1], "js-w-0-0", "x"},
		"a fence for another group's pod":          {"SADD", theirs[2], "pod-0"},
		"a history for another group":              {"RPUSH", theirs[3], "x"},
		"the end of another group's state":         {"DEL", theirs[0]},
		"a look at another group's state":          {"HGETALL", theirs[0]},
		"a look whether there is another group":    {"TYPE", theirs[0]},
		"a read of the index":                      {"SMEMBERS", functions.IndexKey},
		"a write to the index":                     {"SADD", functions.IndexKey, "x"},
		"a key that is of nobody":                  {"HSET", "mine", "a", "b"},
		"a key beside one's own":                   {"HSET", functions.KeyPrefix + uid + "}:y", "a", "b"},
		"a broadcast to another group":             {"PUBLISH", functions.Channel(victim), "1 A 0 1 1 Restarting 99 0 0"},
		"a broadcast that looks like one's own":    {"PUBLISH", "hf1:{" + victim + "}:{" + uid + "}:c", "x"},
		"an ear on another group":                  {"SUBSCRIBE", functions.Channel(victim)},
		"an ear on all":                            {"PSUBSCRIBE", "*"},
		"an ear on one's own by a pattern":         {"PSUBSCRIBE", functions.Channel(uid)},
		"flushing everything":                      {"FLUSHALL"},
		"flushing the database":                    {"FLUSHDB", "ASYNC"},
		"swapping databases":                       {"SWAPDB", 0, 1},
		"another database":                         {"SELECT", 1},
		"the settings":                             {"CONFIG", "GET", "*"},
		"the folder of the dump":                   {"CONFIG", "SET", "dir", "/tmp"},
		"the counters":                             {"CONFIG", "RESETSTAT"},
		"a sleep":                                  {"DEBUG", "SLEEP", "10"},
		"a crash":                                  {"DEBUG", "SEGFAULT"},
		"a shutdown":                               {"SHUTDOWN", "NOSAVE"},
		"another master":                           {"REPLICAOF", "127.0.0.1", "1"},
		"a busy script":                            {"EVAL", "while true do end", 0},
		"a busy script that reads":                 {"EVAL_RO", "while true do end", 0},
		"a script that is known":                   {"EVALSHA", strings.Repeat("0", 40), 0},
		"a script for later":                       {"SCRIPT", "LOAD", "return 1"},
		"functions of one's own":                   {"FUNCTION", "LOAD", "#!lua name=evil\nredis.register_function('evil', function() while true do end end)"},
		"other functions for all":                  {"FUNCTION", "LOAD", "REPLACE", "#!lua name=holdfast\nredis.register_function('hf1_join', function() return 1 end)"},
		"the end of all functions":                 {"FUNCTION", "FLUSH"},
		"the code of all functions":                {"FUNCTION", "LIST", "WITHCODE"},
		"the end of a running function":            {"FUNCTION", "KILL"},
		"more rights":                              {"ACL", "SETUSER", coordination.UserOf(uid), "+@all", "~*"},
		"another user":                             {"ACL", "SETUSER", "mallory", "on", "nopass", "+@all"},
		"the end of another user":                  {"ACL", "DELUSER", coordination.UserOf(victim)},
		"the list of users":                        {"ACL", "LIST"},
		"what others do":                           {"MONITOR"},
		"the end of others' connections":           {"CLIENT", "KILL", "TYPE", "normal"},
		"the end of the leader's connections":      {"CLIENT", "KILL", "USER", "leader"},
		"a pause for all":                          {"CLIENT", "PAUSE", "10000"},
		"the list of connections":                  {"CLIENT", "LIST"},
		"all keys":                                 {"KEYS", "*"},
		"all keys, bit by bit":                     {"SCAN", 0},
		"some key":                                 {"RANDOMKEY"},
		"a value from elsewhere":                   {"RESTORE", mine[0], 0, "x"},
		"a value for elsewhere":                    {"MIGRATE", "127.0.0.1", "1", mine[0], 0, 10},
		"a copy of one's own":                      {"COPY", mine[0], "copy"},
		"a new name for one's own":                 {"RENAME", mine[0], theirs[0]},
		"an end for one's own that nobody expects": {"EXPIRE", mine[0], 1},
		"a long text":                              {"APPEND", mine[0], "x"},
		"a longer text":                            {"SETRANGE", mine[0], 1 << 29, "x"},
		"a dump":                                   {"SAVE"},
		"a dump behind":                            {"BGSAVE"},
		"a new log":                                {"BGREWRITEAOF"},
		"a module":                                 {"MODULE", "LOAD", "/tmp/x.so"},
		"a wait":                                   {"BLPOP", mine[3], 0},
		"a transaction":                            {"MULTI"},
		"the server's state":                       {"INFO"},
		"what was slow":                            {"SLOWLOG", "GET"},
		"tracking":                                 {"CLIENT", "TRACKING", "ON", "BCAST"},
		"another name for the server":              {"CLUSTER", "RESET"},
		"a replica's stream":                       {"PSYNC", "?", -1},
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

// refused: by the server for want of a right, or by the functions because the server refused them.
func refused(reply string) bool {
	return strings.HasPrefix(reply, "NOPERM") || strings.Contains(reply, "can't access") || strings.Contains(reply, "No permissions") ||
		strings.Contains(reply, "can't publish to the channel") || strings.Contains(reply, "command not allowed")
}

func (s *siege) leaderUsers() map[string][]string {
	s.Helper()
	users, err := s.leader.Users(context.Background())
	if err != nil {
		s.Fatal(err)
	}
	return users
}

// TestWhatAMemberCanDoStaysInItsGroup: with its own keys and channels it may do what it likes, see docs/security.md.
func TestWhatAMemberCanDoStaysInItsGroup(t *testing.T) {
	mine := functions.Keys(uid)
	for name, does := range map[string][][]any{
		"it writes another phase":        {{"HSET", mine[0], "phase", "Restarting", "round", "1"}},
		"it writes what nobody can read": {{"HSET", mine[0], "phase", "x", "stages", "x", "token", "x"}},
		"it takes the lead":              {{"HSET", mine[0], "token", "9007199254740991 9007199254740991"}},
		"it deletes everything":          {{"DEL", mine[0], mine[1], mine[2], mine[3]}},
		"it makes a list of a hash":      {{"DEL", mine[0]}, {"RPUSH", mine[0], "x"}},
		"it writes another group's pods": {{"HSET", mine[1], "js-w-0-0", "pod-of-another 1 i 1 0 0 0 0 0", "js-w-9-9", "x"}},
		"it broadcasts nonsense":         {{"PUBLISH", functions.Channel(uid), "x"}, {"PUBLISH", functions.Channel(uid), strings.Repeat("x", 1<<20)}},
		"it broadcasts an order":         {{"PUBLISH", functions.Channel(uid), "1 A 0 1 1 Restarting 99 0 0"}},
		"it asks for recreation":         {fcall(functions.FunctionAsk, mine, functions.Channel(uid), "js-w-0-0", "pod-0", 1, "gap")},
	} {
		t.Run(name, func(t *testing.T) {
			s := besiege(t)
			others := map[string]string{}
			for key, value := range s.dump() {
				if !strings.Contains(key, uid) {
					others[key] = value
				}
			}
			for _, command := range does {
				if err := s.mallory.client.Do(t.Context(), command...).Err(); err != nil {
					t.Fatal(err)
				}
			}
			after := s.dump()
			for key := range after {
				if strings.Contains(key, uid) {
					delete(after, key)
				}
			}
			if fmt.Sprint(others) != fmt.Sprint(after) {
				t.Errorf("something changed outside its group")
			}
			s.expectVictimUnharmed()
		})
	}
}

// TestWhatIsForgedIsNotRead: texts so long that reading them would hold up everybody are refused by their length.
func TestWhatIsForgedIsNotRead(t *testing.T) {
	s := besiege(t)
	long := strings.Repeat("js-w 1 2 0 held\n", 40000)
	for field, value := range map[string]string{
		"stages": long[:len(long)-1], "counts": strings.TrimRight(strings.Repeat("1 0 0 0\n", 80000), "\n"),
		"steps": strings.TrimRight(strings.Repeat("0 0 0 0   0 0 0\n", 40000), "\n"), "record": "1 0 " + strings.Repeat("a", 1<<20) + "  0 0 0 1 0",
	} {
		before := s.do("HGET", functions.Keys(uid)[0], field)
		if err := s.mallory.client.HSet(t.Context(), functions.Keys(uid)[0], field, value).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.leader.Summary(t.Context(), uid); !errors.Is(err, coordination.ErrForeignValue) {
			t.Errorf("%s: %v, want a foreign value", field, err)
		}
		s.do("HSET", functions.Keys(uid)[0], field, before)
	}
	history := make([]any, 0, 2000)
	for range cap(history) {
		history = append(history, strings.Repeat("x", 1024))
	}
	if err := s.mallory.client.RPush(t.Context(), functions.Keys(uid)[3], history...).Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.leader.History(t.Context(), uid); !errors.Is(err, coordination.ErrForeignValue) {
		t.Errorf("history: %v, want a foreign value", err)
	}
	if _, err := s.leader.Missing(t.Context(), victim); err != nil {
		t.Error(err)
	}
	s.expectVictimUnharmed()
}

// TestWhatIsLargeBehindWhatIsSmallIsCounted: five elements are what the server looks at unless it is told otherwise, of a list the first ones.
func TestWhatIsLargeBehindWhatIsSmallIsCounted(t *testing.T) {
	s := besiege(t)
	const few, large = 5, 8
	elements := make([]any, 0, few+large)
	for range few {
		elements = append(elements, strings.Repeat("x", 9<<10))
	}
	for range large {
		elements = append(elements, strings.Repeat("x", 1<<20))
	}
	if err := s.mallory.client.RPush(t.Context(), functions.Keys(uid)[3], elements...).Err(); err != nil {
		t.Fatal(err)
	}
	usage, err := s.leader.Usage(t.Context(), []string{uid})
	if err != nil || usage[uid] < large<<20 {
		t.Errorf("usage %v, error %v; want more than %d", usage, err, large<<20)
	}
	if _, err := s.leader.History(t.Context(), uid); !errors.Is(err, coordination.ErrForeignValue) || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("history: %v, want that it was refused by its size", err)
	}
}

const manyWrites = 1_000_000

// TestAMillionWrites fills the member's own slots. Its share of the memory gives it away, and it can be cut off.
func TestAMillionWrites(t *testing.T) {
	s := besiege(t)
	s.flood(manyWrites, 1000, "x")
	s.expectVictimUnharmed()
	usage, err := s.leader.Usage(t.Context(), []string{uid, victim, "uid-3"})
	if err != nil {
		t.Fatal(err)
	}
	if usage[uid] < manyWrites*10 || usage[victim] > 1<<20 || len(usage) != 2 {
		t.Errorf("usage %v", usage)
	}
	s.cutOff()
	if left, err := s.leader.Usage(t.Context(), []string{uid}); err != nil || len(left) != 0 {
		t.Errorf("after it was cut off: %v, %v", left, err)
	}
	if _, err := s.leader.Summary(t.Context(), victim); err != nil {
		t.Error(err)
	}
}

// TestAFullServer: with no memory left nobody's report gets through, which is an outage to all agents; the leader can still
// cut off whose fault it is, and then all goes on.
func TestAFullServer(t *testing.T) {
	s := besiege(t, "--maxmemory", "32mb", "--maxmemory-policy", "noeviction")
	j := aJoin("0")
	for full := false; !full; { // to the last bit: what the flood's own calls took is free after them
		s.flood(1000, 100, strings.Repeat("x", 1000))
		s.flood(1000, 1, "x")
		_, err := s.alice.Join(t.Context(), victim, j)
		full = err != nil
	}
	dies := coordination.Down{Member: j.Member, Instance: j.Instance, ExitCode: 1, Seen: coordination.Unseen()}
	if _, err := s.alice.Down(t.Context(), victim, dies); err == nil || errors.Is(err, coordination.ErrForeignValue) || errors.Is(err, coordination.ErrNoGroup) {
		t.Errorf("a report to a full server: %v, want an outage", err)
	}
	s.cutOff()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // the server frees in its own time
		if _, err := s.alice.Join(t.Context(), victim, j); err == nil {
			break
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	s.expectVictimUnharmed()
}

// flood writes n fields into the member's slots, in batches, until the server takes no more.
func (s *siege) flood(n, batch int, value string) {
	s.Helper()
	for from := 0; from < n; from += batch {
		args := make([]any, 0, 2*batch)
		for range batch {
			s.flooded++
			args = append(args, fmt.Sprint("slot-", s.flooded), value)
		}
		if err := s.mallory.client.HSet(s.Context(), functions.Keys(uid)[1], args...).Err(); err != nil {
			if !strings.Contains(err.Error(), "OOM") {
				s.Fatal(err)
			}
			return
		}
	}
}

// cutOff is what the leader does with a member that takes too much.
func (s *siege) cutOff() {
	s.Helper()
	if err := errors.Join(s.leader.DropUser(s.Context(), uid), s.leader.Erase(s.Context(), uid)); err != nil {
		s.Fatal(err)
	}
	if err := s.mallory.client.HSet(s.Context(), functions.Keys(uid)[1], "a", "b").Err(); err == nil {
		s.Error("it writes on")
	}
}

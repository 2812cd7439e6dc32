package valkey

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/contract"
	"github.com/holdfast-project/holdfast/shared/coordination/functions"
)

func TestTheLibraryIsLoadedOnceAndReplacedWhenItDiffers(t *testing.T) {
	ctx := t.Context()
	server := newServer(t)
	store := server.store(t)
	for range 3 {
		if err := store.EnsureLibrary(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if n := server.calls("function|load"); n != 1 {
		t.Errorf("loaded %d times, want 1", n)
	}
	server.do("FUNCTION", "LOAD", "REPLACE", "#!lua name=holdfast\nredis.register_function('hf1_old', function() return 1 end)")
	if err := store.EnsureLibrary(ctx); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, store, anOpening())
}

func TestALeaderThatConnectsBringsItsOwnRules(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server := newServer(t)
	server.do("FUNCTION", "LOAD", "#!lua name=holdfast\nredis.register_function('hf1_old', function() return 1 end)")
	connected := make(chan string, 8)
	store := server.store(t)
	go store.WatchAll(ctx, func(group string) { connected <- group })
	if group := <-connected; group != "" {
		t.Fatalf("heard of %q first, want the connection", group)
	}
	if code := server.admin.FunctionList(ctx, redis.FunctionListQuery{WithCode: true}).Val()[0].Code; code != functions.Library {
		t.Error("the functions of the leader before are still in force")
	}
}

func TestALibraryOfSomebodyElseIsLeftAlone(t *testing.T) {
	server := newServer(t)
	server.do("FUNCTION", "LOAD", "#!lua name=other\nredis.register_function('other', function() return 1 end)")
	mustOpen(t, server.store(t), anOpening())
	if got := server.do("FCALL", "other", 0); got != int64(1) {
		t.Errorf("the other function returns %v, want 1", got)
	}
}

func TestTheLibraryWorksUnderBothProtocols(t *testing.T) {
	server := newServer(t)
	for _, protocol := range []int{2, 3} {
		client := redis.NewClient(&redis.Options{Addr: server.address, Protocol: protocol})
		defer client.Close()
		if err := client.FunctionLoadReplace(t.Context(), functions.Library).Err(); err != nil {
			t.Fatalf("RESP%d: %v", protocol, err)
		}
		store := server.store(t)
		store.client = client
		mustOpen(t, store, anOpening())
		if _, err := store.Join(t.Context(), uid, aJoin("0")); err != nil {
			t.Errorf("RESP%d: %v", protocol, err)
		}
	}
}

func TestAMissingFunctionIsAnEmptyStoreToAgents(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	j := aJoin("0")
	calls := map[string]func() error{
		"join": func() error { _, err := store.Join(t.Context(), uid, j); return err },
		"down": func() error {
			_, err := store.Down(t.Context(), uid, coordination.Down{Member: j.Member, Instance: j.Instance})
			return err
		},
		"ask": func() error { _, err := store.Ask(t.Context(), uid, j.Member, coordination.KindGap); return err },
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, coordination.ErrNoGroup) {
			t.Errorf("%s: %v, want %v", name, err, coordination.ErrNoGroup)
		}
	}
	if n := server.calls("function|load"); n != 0 {
		t.Errorf("an agent loaded the library")
	}
	if _, err := store.Summary(t.Context(), uid); !errors.Is(err, coordination.ErrNoGroup) {
		t.Errorf("summary: %v, want %v", err, coordination.ErrNoGroup)
	}
	if n := server.calls("function|load"); n != 1 {
		t.Errorf("the leader loaded the library %d times, want 1", n)
	}
}

// TestAnAgentsRightsAreEnoughAndEndAtItsGroup works with the ACL rules that AgentRules gives.
func TestAnAgentsRightsAreEnoughAndEndAtItsGroup(t *testing.T) {
	ctx := t.Context()
	server := newServer(t)
	leader := server.store(t)
	mustOpen(t, leader, anOpening())
	if _, err := leader.Open(ctx, "uid-2", anOpening()); err != nil {
		t.Fatal(err)
	}
	agent := server.asUser(t, AgentRules(uid))
	w := contract.Watch(t, agent, uid)
	w.AwaitCount(t, 1)
	for _, slot := range []string{"0", "1"} {
		if _, err := agent.Join(ctx, uid, atBarrier(aJoin(slot))); err != nil {
			t.Fatal(err)
		}
	}
	j := aJoin("0")
	j.Barrier, j.RunsFor = true, 5
	if _, err := agent.Join(ctx, uid, j); err != nil {
		t.Error(err)
	}
	if _, err := agent.Down(ctx, uid, coordination.Down{Member: j.Member, Instance: j.Instance, ExitCode: 1}); err != nil {
		t.Error(err)
	}
	if _, err := agent.Ask(ctx, uid, j.Member, coordination.KindUnkilled); err != nil {
		t.Error(err)
	}
	for _, o := range w.AwaitCount(t, 4) {
		if o.Err != nil {
			t.Errorf("observation %+v", o)
		}
	}
	before := server.dump()
	if _, err := agent.Join(ctx, "uid-2", aJoin("0")); err == nil || !strings.Contains(err.Error(), "NOPERM") {
		t.Errorf("a join in another group: %v, want NOPERM", err)
	}
	for _, forbidden := range [][]any{
		{"EVAL", "return 1", 0}, {"FUNCTION", "FLUSH"}, {"SCRIPT", "FLUSH"}, {"FLUSHALL"}, {"KEYS", "*"}, {"CONFIG", "GET", "*"},
		{"PUBLISH", functions.Channel("uid-2"), "x"}, {"GET", "other"},
	} {
		if err := agent.client.Do(ctx, forbidden...).Err(); err == nil || !strings.Contains(err.Error(), "NOPERM") {
			t.Errorf("%v: %v, want NOPERM", forbidden, err)
		}
	}
	expectDump(t, server, before)
}

func (s *server) asUser(t *testing.T, rules []string) *Store {
	t.Helper()
	args := []any{"ACL", "SETUSER", "agent", "on", ">secret"}
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

// calls is how often the server has run a command.
func (s *server) calls(command string) int {
	s.t.Helper()
	info := s.admin.Info(context.Background(), "commandstats").Val()
	for line := range strings.SplitSeq(info, "\r\n") {
		if rest, ok := strings.CutPrefix(line, "cmdstat_"+command+":calls="); ok {
			n := 0
			for _, digit := range rest {
				if digit < '0' || digit > '9' {
					break
				}
				n = n*10 + int(digit-'0')
			}
			return n
		}
	}
	return 0
}

func atBarrier(j coordination.Join) coordination.Join {
	j.Barrier = true
	return j
}

package valkey

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

const (
	rootPassword   = "root-password"
	leaderPassword = "leader-password"
)

// newGuardedServer returns a server with a disabled default user, a user for the leader, and one for the test. The default user has
// all permissions because Valkey 8.1 and Redis 7.0 replay transactions in the append-only file, including the effects of functions,
// with its permissions, and drop commands that it is not allowed to run (valkey-io/valkey#3983).
func newGuardedServer(t testing.TB, args ...string) *server {
	t.Helper()
	rules := append([]string{"--user", "leader", "on", ">" + leaderPassword}, leaderRules()...)
	args = append(args, "--user", "default", "off", "~*", "&*", "+@all", "--user", "root", "on", ">"+rootPassword, "~*", "&*", "+@all")
	s := prepareServer(t, append(args, rules...)...)
	s.admin.Options().Username, s.admin.Options().Password = "root", rootPassword
	s.start()
	return s
}

// as returns a client with the given user and password.
func (s *server) as(t testing.TB, user, password string, change ...func(*Options)) *Store {
	t.Helper()
	file := filepath.Join(t.TempDir(), "password")
	writeFile(t, file, password)
	return s.store(t, append([]func(*Options){func(o *Options) {
		o.Username, o.PasswordFile, o.ClientName = user, file, "test"
	}}, change...)...)
}

func (s *server) leader(t testing.TB) *Store { return s.as(t, "leader", leaderPassword) }

// agentOf returns a client for a group member, after the leader has created its user.
func (s *server) agentOf(t testing.TB, group string, change ...func(*Options)) *Store {
	t.Helper()
	password := "password-of-" + group
	mustSet(t, s.leader(t), map[string][]string{group: {sha(password)}})
	return s.as(t, coordination.UserOf(group), password, change...)
}

func mustSet(t testing.TB, s *Store, users map[string][]string) {
	t.Helper()
	if err := s.SetUsers(context.Background(), users); err != nil {
		t.Fatal(err)
	}
}

func sha(password string) string {
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:])
}

func TestOldPasswordIsValidUntilItIsRemoved(t *testing.T) {
	server := newGuardedServer(t)
	leader := server.leader(t)
	mustOpen(t, leader)
	try := func(password string) bool {
		_, _, err := server.as(t, coordination.UserOf(uid), password).Call(t.Context(), uid, aJoin(0))
		return err == nil
	}
	for _, step := range []struct {
		valid    []string
		old, new bool
	}{{[]string{"old"}, true, false}, {[]string{"new", "old"}, true, true}, {[]string{"new"}, false, true}} {
		var hashes []string
		for _, password := range step.valid {
			hashes = append(hashes, sha(password))
		}
		mustSet(t, leader, map[string][]string{uid: hashes})
		if got := [2]bool{try("old"), try("new")}; got != [2]bool{step.old, step.new} {
			t.Errorf("with %q: old and new are %v", step.valid, got)
		}
		users, err := leader.Users(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string][]string{uid: slices.Sorted(slices.Values(hashes))}, users); diff != "" {
			t.Errorf("users: %s", diff)
		}
	}
}

// A rotation does not affect open connections. They use the new password when they reconnect.
func TestAgentReadsARotatedPasswordFromItsFile(t *testing.T) {
	server := newGuardedServer(t)
	leader := server.leader(t)
	mustOpen(t, leader)
	mustSet(t, leader, map[string][]string{uid: {sha("old")}})
	file := filepath.Join(t.TempDir(), "password")
	writeFile(t, file, "old")
	agent := server.store(t, func(o *Options) { o.Username, o.PasswordFile = coordination.UserOf(uid), file })
	w := watchGroup(t, agent, uid)
	w.awaitCount(t, 1)
	writeFile(t, file, "new")
	mustSet(t, leader, map[string][]string{uid: {sha("new")}})
	mustCall(t, agent, aJoin(0)) // on an old or a new connection, whichever the pool returns
	mustCall(t, agent, aJoin(1))
	for _, o := range w.awaitCount(t, 2) {
		if o.Err != nil {
			t.Errorf("observation %+v", o)
		}
	}
	server.do("CLIENT", "KILL", "USER", coordination.UserOf(uid))
	for _, o := range w.awaitCount(t, 4)[2:] {
		if o.Err != nil && strings.Contains(o.Err.Error(), "WRONGPASS") {
			t.Errorf("observation %+v: the new password was not read", o)
		}
	}
}

// To agents, a server without its users is an outage and never an order. It ends once the leader has restored the server's users.
func TestServerWithoutItsUsersIsUnreachable(t *testing.T) {
	server := newGuardedServer(t, "--appendonly", "yes", "--appendfsync", "always")
	leader := server.leader(t)
	mustOpen(t, leader)
	agent := server.agentOf(t, uid)
	w := watchGroup(t, agent, uid)
	before := w.awaitCount(t, 1)[0]
	server.stop()
	server.start()
	if lost := w.awaitCount(t, 2)[1]; !isLoss(lost) || lost.Level != (rounds.Level{}) {
		t.Errorf("observation %+v, want a loss", lost)
	}
	if _, _, err := agent.Call(t.Context(), uid, aJoin(0)); err == nil || !strings.Contains(err.Error(), "WRONGPASS") {
		t.Errorf("join: %v, want WRONGPASS", err)
	}
	if o := agent.Observe(t.Context(), uid, rounds.Slot{}); o.Read || o.Err == nil || !strings.Contains(o.Err.Error(), "WRONGPASS") {
		t.Errorf("observation %+v, want WRONGPASS, not read", o)
	}
	server.agentOf(t, uid)
	if back := w.awaitCount(t, 3)[2]; !back.Read || back.Level != before.Level {
		t.Errorf("observation %+v, want the level from before, read", back)
	}
	mustCall(t, agent, aJoin(0))
}

func TestDroppedUserIsDisconnected(t *testing.T) {
	server := newGuardedServer(t)
	leader := server.leader(t)
	mustOpen(t, leader)
	agent := server.agentOf(t, uid)
	w := watchGroup(t, agent, uid)
	w.awaitCount(t, 1)
	for range 2 { // dropping a user that does not exist is not an error
		if err := leader.DropUser(t.Context(), uid); err != nil {
			t.Fatal(err)
		}
	}
	if lost := w.awaitCount(t, 2)[1]; !isLoss(lost) {
		t.Errorf("observation %+v, want a loss", lost)
	}
	if _, _, err := agent.Call(t.Context(), uid, aJoin(0)); err == nil {
		t.Error("the dropped user can still join")
	}
	if users, err := leader.Users(t.Context()); err != nil || len(users) != 0 {
		t.Errorf("users %v, error %v", users, err)
	}
}

func TestDefaultUserIsDisabled(t *testing.T) {
	server := newGuardedServer(t)
	if _, err := server.store(t).Tidy(t.Context()); err == nil || !strings.Contains(err.Error(), "NOAUTH") {
		t.Errorf("without credentials: %v, want NOAUTH", err)
	}
	if _, err := server.as(t, "default", "").Tidy(t.Context()); err == nil {
		t.Error("the default user can log in")
	}
}

func TestOtherUsersAreKept(t *testing.T) {
	server := newGuardedServer(t)
	users, err := server.leader(t).Users(t.Context())
	if err != nil || len(users) != 0 {
		t.Errorf("users %v, error %v: want none of leader, root and default", users, err)
	}
}

func TestGroupNamesCannotContainRules(t *testing.T) {
	leader := newGuardedServer(t).leader(t)
	for name, users := range map[string]map[string][]string{
		"a pattern":             {"*": {sha("p")}},
		"a brace":               {"a}:s ~*": {sha("p")}},
		"nothing":               {"": {sha("p")}},
		"a long name":           {strings.Repeat("a", 65): {sha("p")}},
		"a cleartext password":  {uid: {"p"}},
		"a rule for a password": {uid: {"x +@all"}},
	} {
		if err := leader.SetUsers(t.Context(), users); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestParseUser(t *testing.T) {
	for line, want := range map[string]string{
		"user holdfast:a on #22 #11 resetchannels -@all": "a [11 22] true",
		"user holdfast:a off #11 resetchannels -@all":    "a [] true",
		"user holdfast:a on sanitize-payload":            "a [] true",
		"user default on nopass ~* &* +@all":             "default [] false",
		"user":                                           " [] false",
		"":                                               " [] false",
	} {
		group, hashes, ours := parseUser(line)
		if got := fmt.Sprint(group, " ", hashes, " ", ours); got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
}

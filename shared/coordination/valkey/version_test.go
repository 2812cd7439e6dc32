package valkey

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/contract"
)

// ofAnotherVersion is a library as another version of this package would load it.
const ofAnotherVersion = `#!lua name=holdfast
redis.register_function({ function_name = 'hf_version', flags = { 'no-writes' }, callback = function() return '2' end })
redis.register_function('hf2_join', function() return 'joined' end)
`

func wantOtherVersion(t *testing.T, of string, err error) {
	t.Helper()
	var version *coordination.VersionError
	if !errors.As(err, &version) {
		t.Fatalf("%s: %v, want a version error", of, err)
	}
	const want = "the store serves protocol version 2, this program speaks version 1"
	if diff := cmp.Diff(want, version.Error()); diff != "" {
		t.Errorf("%s (-want +got)\n%s", of, diff)
	}
}

func TestALeaderLeavesAStoreOfAnotherVersionAlone(t *testing.T) {
	server := newServer(t)
	server.do("FUNCTION", "LOAD", ofAnotherVersion)
	before := server.dump()
	leader := server.store(t)
	wantOtherVersion(t, "loading the library", leader.EnsureLibrary(t.Context()))
	_, err := leader.Open(t.Context(), uid, anOpening())
	wantOtherVersion(t, "opening", err)
	expectDump(t, server, before)
	if got := server.do("FCALL", "hf2_join", 0); got != "joined" {
		t.Errorf("the library of the other version returns %v", got)
	}
}

// The leader of the other version has made the rules of the agent's user.
func TestAnAgentIsRefusedByAStoreOfAnotherVersion(t *testing.T) {
	server := newServer(t)
	server.do("FUNCTION", "LOAD", ofAnotherVersion)
	for user, agent := range map[string]*Store{
		"with the rights of this version":  server.asUser(t, AgentRules(uid)),
		"with the rights of the other one": server.asUser(t, []string{"-@all", "+subscribe", "+ping", "+hello", "+auth", "+client|setname", "+fcall|hf_version", "+fcall|hf2_join", "&*"}),
	} {
		t.Run(user, func(t *testing.T) {
			_, err := agent.Join(t.Context(), uid, aJoin("0"))
			wantOtherVersion(t, "joining", err)
			observed := contract.Watch(t, agent, uid).AwaitCount(t, 1)
			wantOtherVersion(t, "watching", observed[0].Err)
		})
	}
}

// What the contract is tested on has to be what it is said to be.
func TestTheStoreIsTheOneThatIsAskedFor(t *testing.T) {
	want, known := map[string]string{"valkey-server": "valkey_version:8.1.", "redis-server": "redis_version:7.0."}[program()]
	if !known {
		t.Fatalf("the contract is not tested on %s", program())
	}
	if info := newServer(t).do("INFO", "server").(string); !strings.Contains(info, want) || program() == "redis-server" && strings.Contains(info, "valkey") {
		t.Errorf("%s says\n%s", program(), info)
	}
}

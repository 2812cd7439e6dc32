package valkey

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// otherLibraries are the libraries that other versions load.
var otherLibraries = map[string]string{
	"1": libraryOf("holdfast", "1"),
	"3": libraryOf("holdfast3", "3"),
}

func libraryOf(name, version string) string {
	return strings.NewReplacer("NAME", name, "VERSION", version).Replace(`#!lua name=NAME
redis.register_function({ function_name = 'hf_version', flags = { 'no-writes' }, callback = function() return 'VERSION' end })
redis.register_function('hfVERSION_join', function() return 'joined' end)
`)
}

func wantVersion(t *testing.T, of string, err error, store string) {
	t.Helper()
	var version *coordination.VersionError
	if !errors.As(err, &version) {
		t.Fatalf("%s: %v, want a version error", of, err)
	}
	if want := "the store serves protocol version " + store + ", this program speaks version " + rounds.Version; version.Error() != want {
		t.Errorf("%s: %v, want %s", of, version, want)
	}
}

func TestLeaderKeepsAStoreOfAnotherVersion(t *testing.T) {
	for version, library := range otherLibraries {
		t.Run(version, func(t *testing.T) {
			server := newServer(t)
			server.do("FUNCTION", "LOAD", library)
			leader := server.store(t)
			wantVersion(t, "loading the library", leader.Load(t.Context()), version)
			_, err := leader.Set(t.Context(), uid, "", aState(), aConfig(2), nil, nil)
			wantVersion(t, "opening", err, version)
			if dump := server.dump(); len(dump) != 0 {
				t.Errorf("stored: %v", dump)
			}
			if got := server.do("FCALL", "hf"+version+"_join", 0); got != "joined" {
				t.Errorf("the library of the other version returns %v", got)
			}
		})
	}
}

// A leader of the other version has written the access rules of the agent's user.
func TestAgentRejectsAStoreOfAnotherVersion(t *testing.T) {
	for version, library := range otherLibraries {
		server := newServer(t)
		server.do("FUNCTION", "LOAD", library)
		theirs := []string{
			"-@all", "+subscribe", "+ping", "+hello", "+auth", "+client|setname", "+fcall|hf_version", "+fcall|hf" + version + "_join", "&hf" + version + ":*",
		}
		for user, rules := range map[string][]string{"the permissions of this version": rounds.MemberRules(uid), "the permissions of the other version": theirs} {
			t.Run(version+" with "+user, func(t *testing.T) {
				agent := server.asUser(t, rules)
				_, _, err := agent.Call(t.Context(), uid, aJoin(0))
				wantVersion(t, "joining", err, version)
				wantVersion(t, "watching", watchGroup(t, agent, uid).awaitCount(t, 1)[0].Err, version)
			})
		}
	}
}

// The tests run on the selected store program.
func TestStoreIsTheSelectedProgram(t *testing.T) {
	want, known := map[string]string{"valkey-server": "valkey_version:8.1.", "redis-server": "redis_version:7.0."}[program()]
	if !known {
		t.Fatalf("the store is not tested on %s", program())
	}
	if info := newServer(t).do("INFO", "server").(string); !strings.Contains(info, want) || program() == "redis-server" && strings.Contains(info, "valkey") {
		t.Errorf("%s says\n%s", program(), info)
	}
}

package valkey

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// The users of the chart's own store have the rules that the code needs.
func TestChartHasTheRules(t *testing.T) {
	for file, want := range map[string][]string{"orchestrator.rules": leaderRules(), "agents.rules": rounds.MemberRules("*")} {
		path := filepath.Join("..", "..", "..", "charts", "jobset-controller", "files", "valkey", file)
		if diff := cmp.Diff(want, strings.Fields(readFile(t, path))); diff != "" {
			t.Errorf("%s does not match the rules that the code needs: %s", file, diff)
		}
	}
}

// leaderRules returns the access rules for the orchestrator's user, which leads all groups and creates the users for their
// members. The user may subscribe to all channels, because a rule would have to match the pattern of the subscription exactly.
func leaderRules() []string {
	rules := []string{
		"-@all", "+subscribe", "+psubscribe", "+ping", "+hello", "+auth", "+client|setname", "+fcall", "+function", "+acl",
		"+multi", "+exec", "+scan", "+memory", "+hgetall", "+del",
	}
	for _, command := range rounds.FunctionCommands {
		rules = append(rules, "+"+command)
	}
	return append(rules, "resetkeys", "~hf*", "resetchannels", "&*")
}

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
	for file, want := range map[string][]string{"orchestrator.rules": LeaderRules(), "agents.rules": rounds.MemberRules("*")} {
		path := filepath.Join("..", "..", "..", "charts", "jobset-controller", "files", "valkey", file)
		if diff := cmp.Diff(want, strings.Fields(readFile(t, path))); diff != "" {
			t.Errorf("%s is not what the code asks for: %s", file, diff)
		}
	}
}

package valkey

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The chart gives its own store the users that the code needs.
func TestTheChartHasTheRules(t *testing.T) {
	for file, want := range map[string][]string{"orchestrator.rules": LeaderRules(), "agents.rules": OpenRules()} {
		path := filepath.Join("..", "..", "..", "charts", "jobset-controller", "files", "valkey", file)
		if diff := cmp.Diff(want, strings.Fields(readFile(t, path))); diff != "" {
			t.Errorf("%s is not what the code asks for: %s", file, diff)
		}
	}
}

func TestAgentsSpeakTheNeighbouringVersions(t *testing.T) {
	for version, want := range map[int64][]string{1: {"1", "2"}, 2: {"1", "2", "3"}, 7: {"6", "7", "8"}} {
		rules := AgentRules(version, "uid")
		for v := range int64(10) {
			served := slices.Contains(want, string(rune('0'+v)))
			if slices.Contains(rules, "+fcall|"+functionName(v, functionJoin)) != served || slices.Contains(rules, "&"+channel(v, "uid")) != served {
				t.Errorf("version %d: agents of %d are served: want %v", version, v, served)
			}
		}
	}
}

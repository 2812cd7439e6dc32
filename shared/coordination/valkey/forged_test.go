package valkey

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-project/holdfast/shared/coordination/functions"
)

// TestForgedStagesCostInProportion: a member may write the state of its own group, and a call then reads what it wrote in the
// thread that all groups share. Eight times the stages must not cost more than some eight times the time: with nested loops
// over stages it was 400 times.
func TestForgedStagesCostInProportion(t *testing.T) {
	s := besiege(t)
	cost := func(stages int) float64 {
		s.forgeStages(stages)
		s.do("CONFIG", "RESETSTAT")
		j := aJoin("0")
		j.ID, j.Born = fmt.Sprint("instance of ", stages), int64(stages)
		j.ID = strings.ReplaceAll(j.ID, " ", "-")
		if _, err := s.mallory.Join(t.Context(), uid, j); err != nil {
			t.Fatal(err)
		}
		return s.microseconds("fcall")
	}
	few, many := cost(128), cost(1024)
	t.Logf("a join takes %.1f ms with 128 stages, %.1f ms with 1,024", few/1000, many/1000)
	if many > 24*few {
		t.Errorf("a join takes %.0f us with 1,024 forged stages, %.0f us with 128", many, few)
	}
	s.expectVictimUnharmed()
}

// forgeStages gives the member's group so many stages that have half finished, and a last one that says what is needed: whether
// one stage is needed, whether all that is needed has finished, and whether a stage is held each ask all stages.
func (s *siege) forgeStages(n int) {
	s.Helper()
	stages, counts := []string{"js-w 1 2 0 held"}, []string{"1 0 0 0"}
	for i := 1; i < n-1; i++ {
		stages = append(stages, fmt.Sprintf("x%d 1 2 %d held", i, i%(n/4)))
		counts = append(counts, "1 1 0 0")
	}
	stages, counts = append(stages, "z 1 1 0 needed"), append(counts, "1 1 1 0")
	steps := strings.TrimSuffix(strings.Repeat("0 0 0 0   0 0  0  0 0\n", n/4), "\n")
	err := s.mallory.client.HSet(s.Context(), functions.StateKey(uid), "phase", "Restarting", "round", "1",
		"stages", strings.Join(stages, "\n"), "counts", strings.Join(counts, "\n"), "steps", steps).Err()
	if err != nil {
		s.Fatal(err)
	}
}

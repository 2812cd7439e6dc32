package policy

import (
	"strings"
	"testing"
	"time"
)

func TestStuckPodTimeout(t *testing.T) {
	const key = "holdfast.dev/stuck-pod-timeout"
	for value, want := range map[string]string{"90s": "", "soon": `"soon" is not a duration`, "": "is empty", "10ms": "below the minimum of 1s"} {
		timeout, problem := StuckPodTimeout(map[string]string{key: value})
		switch {
		case want == "" && (problem != nil || timeout != 90*time.Second):
			t.Errorf("%q: %s, %v", value, timeout, problem)
		case want != "" && (problem == nil || timeout != 0 || !strings.Contains(problem.Message, want)):
			t.Errorf("%q: %s, %v", value, timeout, problem)
		}
	}
	if timeout, problem := StuckPodTimeout(nil); timeout != 0 || problem != nil {
		t.Error("a JobSet that does not opt in has a limit")
	}
}

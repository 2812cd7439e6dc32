package policy

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestStuckPodTimeout(t *testing.T) {
	const key = "holdfast.dev/stuck-pod-timeout"
	for value, want := range map[string]string{"90s": "", "soon": `"soon" is not a duration`, "": "is empty", "10ms": "below the minimum of 1s"} {
		var problems field.ErrorList
		timeout := StuckPodTimeout(map[string]string{key: value}, &problems)
		switch {
		case want == "" && (len(problems) > 0 || timeout != 90*time.Second):
			t.Errorf("%q: %s, %v", value, timeout, problems)
		case want != "" && (len(problems) != 1 || timeout != 0 || !strings.Contains(problems[0].Error(), want)):
			t.Errorf("%q: %s, %v", value, timeout, problems)
		}
	}
	var problems field.ErrorList
	if timeout := StuckPodTimeout(nil, &problems); timeout != 0 || len(problems) > 0 {
		t.Error("a JobSet that does not opt in has a limit")
	}
}

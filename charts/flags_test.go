package charts

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A program that is asked for help after its arguments answers only if it knows each of them and can read its value.
func TestProgramsTakeTheArguments(t *testing.T) {
	bin := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin+"/", "./cmd/manager", "./cmd/orchestrator")
	build.Dir = filepath.Join("..", "jobset-controller")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	for name, values := range settings {
		t.Run(name, func(t *testing.T) {
			all := mustParse(t, jobSetChart, values)
			accepts(t, filepath.Join(bin, "manager"), all.container(t, "manager").Args)
			if name != "default" {
				accepts(t, filepath.Join(bin, "orchestrator"), all.container(t, "orchestrator").Args)
			}
		})
	}
	t.Run("an unknown one is noticed", func(t *testing.T) {
		for _, program := range []string{"manager", "orchestrator"} {
			if err := exec.CommandContext(t.Context(), filepath.Join(bin, program), "--no-such-flag", "--help").Run(); err == nil {
				t.Errorf("%s takes --no-such-flag", program)
			}
		}
	})
}

func accepts(t *testing.T, program string, args []string) {
	t.Helper()
	if len(args) == 0 {
		t.Fatalf("%s is given no arguments", filepath.Base(program))
	}
	out, err := exec.CommandContext(t.Context(), program, append(slices.Clone(args), "--help")...).CombinedOutput()
	if err != nil {
		t.Errorf("%s %s: %v\n%s", filepath.Base(program), strings.Join(args, " "), err, out)
	}
}

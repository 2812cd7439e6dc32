package charts

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// program is where a container's program is built, in what environment.
type program struct {
	folder, main string
	env          []string
}

// programs of each chart by the names of their containers.
var programs = map[string]map[string]program{
	jobSetChart: {
		"manager":      {filepath.Join("..", "jobset-controller"), "./cmd/manager", nil},
		"orchestrator": {filepath.Join("..", "jobset-controller"), "./cmd/orchestrator", nil},
	},
	appWrapperChart: {"manager": {filepath.Join("..", "appwrapper-controller"), "./cmd/manager", nil}},
	elasticChart: {
		"manager": {filepath.Join("..", "elastic-operator"), "./cmd/manager", nil},
		"kueue":   {filepath.Join("..", "elastic-operator", "kueue"), "./cmd/manager", []string{"GOWORK=off"}}, // its module is not in the workspace
	},
	reschedulerChart: {
		"manager":   {filepath.Join("..", "rescheduler"), "./cmd/manager", nil},
		"scheduler": {filepath.Join("..", "rescheduler", "scheduler"), "./cmd/scheduler", nil},
	},
}

// foreignContainers run programs that are not ours.
var foreignContainers = []string{"valkey"}

// A program that is asked for help after its arguments answers only if it knows each of them and can read its value.
func TestProgramsTakeTheArguments(t *testing.T) {
	built := buildAll(t)
	eachRendering(t, func(t *testing.T, chart, _, values string) {
		for _, pod := range mustParse(t, chart, values).podTemplates(t) {
			for _, c := range pod.Spec.Containers {
				binary, ours := built[chart+"/"+c.Name]
				switch {
				case ours:
					accepts(t, binary, c.Args)
				case !slices.Contains(foreignContainers, c.Name):
					t.Errorf("nobody knows the program of container %s", c.Name)
				}
			}
		}
	})
	for name, binary := range built {
		if err := exec.CommandContext(t.Context(), binary, "--no-such-flag", "--help").Run(); err == nil {
			t.Errorf("%s takes --no-such-flag", name)
		}
	}
}

// buildAll builds every program and returns where each is, by its chart and container.
func buildAll(t *testing.T) map[string]string {
	t.Helper()
	folder := t.TempDir()
	built := map[string]string{}
	for chart, all := range programs {
		for container, p := range all {
			binary := filepath.Join(folder, chart+"-"+container)
			build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, p.main)
			build.Dir, build.Env = p.folder, append(os.Environ(), p.env...)
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("building the %s of %s: %v\n%s", container, chart, err, out)
			}
			built[chart+"/"+container] = binary
		}
	}
	return built
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

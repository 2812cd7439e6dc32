package charts

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-project/holdfast/shared/testing/docs"
)

// program describes how to build the program of a container: the directory, the package and the environment.
type program struct {
	folder, main string
	env          []string
}

// programs maps each chart to its programs, by container name.
var programs = map[string]map[string]program{
	jobSetChart: {
		"manager":      {filepath.Join("..", "jobset-controller"), "./cmd/manager", nil},
		"orchestrator": {filepath.Join("..", "jobset-controller"), "./cmd/orchestrator", nil},
	},
	inPlaceChart:    {"manager": {filepath.Join("..", "jobset-controller"), "./cmd/orchestrator", nil}},
	appWrapperChart: {"manager": {filepath.Join("..", "appwrapper-controller"), "./cmd/manager", nil}},
	elasticChart: {
		"manager": {filepath.Join("..", "elastic-operator"), "./cmd/manager", nil},
		"kueue":   {filepath.Join("..", "elastic-operator", "kueue"), "./cmd/manager", []string{"GOWORK=off"}}, // the kueue module is not in the workspace
	},
	reschedulerChart: {"manager": {filepath.Join("..", "rescheduler"), "./cmd/manager", nil}},
}

// elsewhere lists programs that run in users' pods and are not part of any chart.
var elsewhere = map[string]map[string]program{
	"agent": {
		"agent":         {filepath.Join("..", "agent"), "./cmd/agent", nil},
		"holdfast-exec": {filepath.Join("..", "agent"), "./cmd/holdfast-exec", nil},
	},
	elasticChart: {"rendezvous": {filepath.Join("..", "elastic-operator"), "./cmd/rendezvous", nil}},
}

// foreignContainers lists containers whose programs are not ours or take minutes to link. The scheduler is
// kube-scheduler with a plugin.
var foreignContainers = []string{"valkey", "scheduler"}

// With --help after its arguments, a program prints its help only if it recognizes each argument and can parse its
// value.
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
					t.Errorf("the program of container %s is unknown", c.Name)
				}
			}
		}
	})
	t.Run("pages name existing flags", func(t *testing.T) { checkPages(t, built) })
	t.Run("reference lists all flags", func(t *testing.T) { checkFlags(t, built) })
	for chart, containers := range programs {
		for container := range containers {
			if err := exec.CommandContext(t.Context(), built[chart+"/"+container], "--no-such-flag", "--help").Run(); err == nil {
				t.Errorf("%s/%s accepts --no-such-flag", chart, container)
			}
		}
	}
}

// checkPages checks that programs accept the command lines on the pages, with values in place of <placeholders>.
func checkPages(t *testing.T, built map[string]string) {
	t.Helper()
	pages, err := docs.Pages("..")
	if err != nil {
		t.Fatal(err)
	}
	for program, binary := range map[string]string{"rendezvous": built[elasticChart+"/rendezvous"], "holdfast-exec": built["agent/holdfast-exec"]} {
		seen := 0
		for _, page := range pages {
			for _, command := range page.Commands() {
				if command.Words[0] != program {
					continue
				}
				seen++
				words, err := docs.Words(placeholder.ReplaceAllString(command.Text, "x"))
				if err != nil {
					t.Fatal(err)
				}
				flags := slices.DeleteFunc(words[1:], func(w string) bool { return w == "[flags]" })
				if end := slices.Index(flags, "--"); end >= 0 {
					flags = flags[:end]
				}
				accepts(t, binary, append(flags, "--help"))
			}
		}
		if seen == 0 {
			t.Errorf("no page has a command of %s", program)
		}
	}
}

var placeholder = regexp.MustCompile(`<[^>]*>`)

// buildAll builds every program and returns their paths, by chart and container.
func buildAll(t *testing.T) map[string]string {
	t.Helper()
	folder := t.TempDir()
	built := map[string]string{}
	for _, all := range []map[string]map[string]program{programs, elsewhere} {
		for chart, containers := range all {
			for container, p := range containers {
				built[chart+"/"+container] = p.build(t, filepath.Join(folder, chart+"-"+container))
			}
		}
	}
	return built
}

func accepts(t *testing.T, program string, args []string) {
	t.Helper()
	if len(args) == 0 {
		t.Fatalf("%s gets no arguments", filepath.Base(program))
	}
	out, err := exec.CommandContext(t.Context(), program, append(slices.Clone(args), "--help")...).CombinedOutput()
	if err != nil {
		t.Errorf("%s %s: %v\n%s", filepath.Base(program), strings.Join(args, " "), err, out)
	}
}

func (p program) build(t *testing.T, binary string) string {
	t.Helper()
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", binary, p.main)
	build.Dir, build.Env = p.folder, append(os.Environ(), p.env...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", filepath.Base(binary), err, out)
	}
	return binary
}

// checkFlags checks that the reference page shows the help texts of the programs.
func checkFlags(t *testing.T, built map[string]string) {
	t.Helper()
	var page strings.Builder
	page.WriteString("# Flags\n\nThe output of `--help` for each program. Generated by `go test ./charts -run Arguments -update`: do not edit.\n")
	for _, name := range slices.Sorted(maps.Keys(built)) {
		out, err := exec.CommandContext(t.Context(), built[name], "--help").CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text := strings.ReplaceAll(string(out), built[name], filepath.Base(name))
		page.WriteString("\n## " + name + "\n\n```\n" + strings.TrimSpace(strings.ReplaceAll(text, "\t", "  ")) + "\n```\n")
	}
	file := filepath.Join("..", "docs", "reference", "flags.md")
	if *update {
		if err := os.WriteFile(file, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(mustRead(t, file)), strings.TrimSpace(page.String())); diff != "" {
		t.Errorf("differs from %s (go test -update updates it), -want +got:\n%s", file, diff)
	}
}

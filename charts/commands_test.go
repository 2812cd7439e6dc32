package charts

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	helm "helm.sh/helm/v4/pkg/cmd"
	"helm.sh/helm/v4/pkg/strvals"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/shared/testing/docs"
)

// checks maps each program to a function that checks a command on the pages without running it. The function receives
// the words that follow the program's name. In addition, e2e/suites/docs runs the commands on the pages for users.
var checks = map[string]func(t *testing.T, words []string) error{
	"make": checkMake, "helm": checkHelm, "kubectl": checkKubectl, "export": checkExport, "go": checkGo,
	"hack/install-debian.sh": checkScript("hack/install-debian.sh"),
	// These programs are checked by other tests: cli/internal/app, e2e/cmd/testbed, flags_test.go.
	"testbed": elsewhereChecked, "rendezvous": elsewhereChecked, "holdfast-exec": elsewhereChecked,
}

func elsewhereChecked(*testing.T, []string) error { return nil }

// Every command on the documentation pages can be run: its programs, subcommands, flags, files, targets and values
// exist.
func TestDocumentedCommandsAreValid(t *testing.T) {
	pages, err := docs.Pages("..")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, page := range pages {
		for _, command := range page.Commands() {
			at := fmt.Sprintf("%s, line %d: %s", page.Path, command.Line, command.Text)
			check, known := checks[command.Words[0]]
			if !known {
				t.Errorf("%s: no check for %s", at, command.Words[0])
				continue
			}
			seen[command.Words[0]]++
			if err := check(t, command.Words[1:]); err != nil {
				t.Errorf("%s: %v", at, err)
			}
		}
		for _, span := range page.Spans { // a span may also contain a command
			if words, err := docs.Words(span); err == nil && words[0] == "make" {
				if err := checkMake(t, words[1:]); err != nil {
					t.Errorf("%s: %s: %v", page.Path, span, err)
				}
			}
		}
	}
	for program := range checks {
		if seen[program] == 0 {
			t.Errorf("no page has a command of %s", program)
		}
	}
}

// The checks reject invalid commands.
func TestInvalidCommandsAreDetected(t *testing.T) {
	for line, want := range map[string]string{
		"make frobnicate":                                        "there is no target frobnicate",
		"make images REGISTERY=a":                                "the Makefile has no variable REGISTERY",
		"helm install a charts/rescheduler --wiat":               "unknown flag: --wiat",
		"helm install a":                                         "not a name and a chart",
		"helm install a charts/rescheduler":                      "set global.imageRegistry",
		"helm install a charts/rescheduler --set replicas=2":     "additional properties 'replicas' not allowed",
		"helm install a charts/nothing":                          "no such file",
		"helm frobnicate a":                                      "no command frobnicate",
		"kubectl get pods --selektor=a":                          "unknown flag: --selektor",
		"kubectl frobnicate pods":                                "no command frobnicate",
		"kubectl apply -f examples/nothing.yaml":                 "no such file",
		"kubectl apply -f e2e/framework/manager.yaml":            "no test applies",
		"kubectl apply -f config/nothing.yaml":                   "no such file",
		"kubectl delete pod $(kubectl gett pods -o name | head)": "no command gett",
		"export KUBECONFIG=$(go run ./e2e/cmd/nothing)":          "no such file",
		"go run helm.sh/helm/v4/cmd/helm@v4.0.0 list":            "the go.mod files of the charts do not have helm.sh/helm/v4 at v4.0.0",
		"export KUBECONFIG":                                      "not a variable and its value",
	} {
		words, err := docs.Words(line)
		if err != nil {
			t.Fatal(err)
		}
		if err := checks[words[0]](t, words[1:]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

// chained splits the words at && or |.
func chained(words []string) []string {
	if i := slices.IndexFunc(words, func(w string) bool { return w == "&&" || w == "|" }); i >= 0 {
		return words[:i]
	}
	return words
}

func checkMake(t *testing.T, words []string) error {
	makefile := string(mustRead(t, filepath.Join("..", "Makefile")))
	for _, word := range chained(words) {
		if name, _, variable := strings.Cut(word, "="); variable {
			if !strings.Contains(makefile, "$("+name+")") {
				return fmt.Errorf("the Makefile has no variable %s", name)
			}
		} else if !strings.Contains(makefile, "\n"+word+":") {
			return fmt.Errorf("there is no target %s", word)
		}
	}
	return nil
}

// parseCommand finds the subcommand in the program's own command tree and parses the flags with it.
func parseCommand(root *cobra.Command, words []string) (*cobra.Command, []string, error) {
	command, rest, err := root.Find(chained(words))
	if err != nil || command == root {
		return nil, nil, fmt.Errorf("no command %s", words[0])
	}
	if err := command.ParseFlags(rest); err != nil {
		return nil, nil, err
	}
	return command, command.Flags().Args(), nil
}

// checkHelm also renders the chart with the values from the command.
func checkHelm(t *testing.T, words []string) error {
	root, err := helm.NewRootCmd(io.Discard, nil, func(bool) {})
	if err != nil {
		t.Fatal(err)
	}
	command, args, err := parseCommand(root, words)
	if err != nil {
		return err
	}
	if slices.Contains([]string{"uninstall", "rollback", "list"}, command.Name()) { // these commands do not take a chart
		return command.ValidateArgs(args)
	}
	if len(args) != 2 || !strings.HasPrefix(args[1], "charts/") {
		return fmt.Errorf("%q are not a name and a chart", args)
	}
	chart := strings.TrimPrefix(args[1], "charts/")
	if _, err := os.Stat(chart); err != nil {
		return err
	}
	values, err := valuesOf(command, chart)
	if err != nil {
		return err
	}
	_, err = render(t, chart, values)
	return err
}

func valuesOf(command *cobra.Command, chart string) (string, error) {
	values := map[string]any{}
	if command.Flags().Changed("values") && chart == jobSetChart { // the file in docs/installation.md
		values = map[string]any{"orchestrator": map[string]any{"enabled": true}, "valkey": map[string]any{"enabled": true}}
	}
	sets, err := command.Flags().GetStringArray("set")
	if err != nil {
		return "", err
	}
	for _, set := range sets {
		if err := strvals.ParseInto(set, values); err != nil {
			return "", err
		}
	}
	if !command.Flags().Changed("values") && values["global"] == nil {
		values["global"] = map[string]any{"imageRegistry": nil} // do not use the tests' default registry
	}
	raw, err := yaml.Marshal(values)
	return string(raw), err
}

// checkKubectl checks a command with kubectl's own parser. Files must be among those that TestAPIServerAcceptsExamples and
// TestAPIServerAcceptsPlainManifests send to an API server.
func checkKubectl(t *testing.T, words []string) error {
	if words[0] == "holdfast" { // checked by a test next to the program: cli/internal/app
		return nil
	}
	for _, word := range words {
		if inner, substituted := strings.CutPrefix(word, "$(kubectl "); substituted {
			within, err := docs.Words(strings.TrimSuffix(inner, ")"))
			if err != nil {
				return err
			}
			if err := checkKubectl(t, within); err != nil {
				return err
			}
		}
	}
	root := kubectl.NewKubectlCommand(kubectl.KubectlOptions{
		ConfigFlags: genericclioptions.NewConfigFlags(true), IOStreams: genericiooptions.NewTestIOStreamsDiscard(),
	})
	command, _, err := parseCommand(root, words)
	if err != nil || command.Name() != "apply" {
		return err
	}
	files, err := command.Flags().GetStringSlice("filename")
	if err != nil {
		return err
	}
	for _, file := range files {
		if file == "jobset.yaml" { // the reader's own file
			continue
		}
		path := filepath.Join("..", file)
		if manifest, made := strings.CutPrefix(file, "config/"); made { // written by `make manifests`
			path = filepath.Join(manifests(t), manifest)
		} else if !strings.HasPrefix(file, "examples/") {
			return fmt.Errorf("no test applies %s", file)
		}
		if _, err := os.Stat(path); err != nil {
			return err
		}
	}
	return nil
}

// checkGo accepts programs in the repository, and programs in modules at the version that the charts and their tools use.
func checkGo(t *testing.T, words []string) error {
	if len(words) < 2 || words[0] != "run" {
		return fmt.Errorf("go %q is not go run", words)
	}
	if program, version, other := strings.Cut(words[1], "@"); other {
		module, _, _ := strings.Cut(program, "/cmd/")
		requires := string(mustRead(t, "go.mod")) + string(mustRead(t, filepath.Join("..", "tools", "charts", "go.mod")))
		if !strings.Contains(requires, "\t"+module+" "+version+"\n") {
			return fmt.Errorf("the go.mod files of the charts do not have %s at %s", module, version)
		}
		return nil
	}
	_, err := os.Stat(filepath.Join("..", words[1], "main.go"))
	return err
}

func checkExport(t *testing.T, words []string) error {
	name, value, ok := strings.Cut(strings.Join(words, " "), "=")
	if !ok || name == "" {
		return fmt.Errorf("%q is not a variable and its value", words)
	}
	inner, substituted := strings.CutPrefix(value, "$(go ")
	if !substituted {
		return nil
	}
	return checkGo(t, strings.Fields(strings.TrimSuffix(inner, ")")))
}

func checkScript(name string) func(*testing.T, []string) error {
	return func(*testing.T, []string) error {
		info, err := os.Stat(filepath.Join("..", name))
		if err == nil && info.Mode()&0o111 == 0 {
			err = fmt.Errorf("%s cannot be run", name)
		}
		return err
	}
}

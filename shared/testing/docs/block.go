package docs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Kind is the kind of a block.
type Kind string

// Kinds of blocks.
const (
	// Commands are commands for the reader to type. If they have a prompt, they may be followed by their output.
	Commands Kind = "commands"
	// Config is YAML or JSON, or a fragment of it.
	Config Kind = "config"
	// Figure is output, a drawing or code.
	Figure Kind = "figure"
)

// Block is a code block on a page.
type Block struct {
	Line     int
	Kind     Kind
	Commands []Command
}

// Command is a command line.
type Command struct {
	Line int
	Text string
	// Words are the words of the line as a shell would split it, without substitutions.
	Words []string
}

// programs are the words with which commands may begin.
var programs = []string{"make", "helm", "kubectl", "export", "go", "docker", "git", "testbed", "holdfast-exec", "rendezvous", "sudo", "curl", "promtool"}

// shells are the languages that mark command blocks.
var shells = []string{"bash", "console", "sh", "shell"}

const prompt = "$ "

func isCommand(line string) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	return slices.Contains(programs, word) || strings.HasPrefix(word, "./") || strings.HasPrefix(word, "hack/")
}

// figure matches a first line that cannot be a command. Either it does not start with a lower-case word, as in tables, drawings and
// comments, or it contains wide gaps, arrows or assignments.
var figure = regexp.MustCompile(`^[^a-z]|\s{3,}|->| = |^(round|restart) \d|^admission webhook `)

// classify determines the kind of a block. It returns an error if the block may contain commands of an unknown program.
func (l lines) classify() (Block, error) {
	first := ""
	for _, line := range l.text {
		if first = strings.TrimSpace(line); first != "" {
			break
		}
	}
	b := Block{Line: l.line}
	switch {
	case l.language == "yaml" || l.language == "json":
		b.Kind = Config
	case l.language == "python":
		b.Kind = Figure
	case l.language != "" && !slices.Contains(shells, l.language):
		return b, fmt.Errorf("a block of %s may or may not have commands", l.language)
	case strings.HasPrefix(first, prompt):
		b.Kind = Commands
		return b, b.read(l, true)
	case isCommand(first) || l.language != "":
		b.Kind = Commands
		return b, b.read(l, false)
	case isConfig(l.text):
		b.Kind = Config
	case figure.MatchString(first):
		b.Kind = Figure
	default:
		return b, fmt.Errorf("%q is neither a known command nor a figure", first)
	}
	return b, nil
}

// isConfig reports whether the text is a YAML mapping. A drawing that contains colons is not valid YAML, because of its
// indentation.
func isConfig(text []string) bool {
	var mapping map[string]any
	return yaml.Unmarshal([]byte(strings.Join(text, "\n")), &mapping) == nil && len(mapping) > 0
}

// read reads the commands in a block: each line or, if prompted, each line with a prompt. It drops comments and joins continued
// lines.
func (b *Block) read(l lines, prompted bool) error {
	continued := false
	for i, line := range l.text {
		line = strings.TrimSpace(line)
		if !continued {
			after, typed := strings.CutPrefix(line, prompt)
			if line == "" || strings.HasPrefix(line, "#") || (prompted && !typed) {
				continue
			}
			if !isCommand(after) {
				return fmt.Errorf("unknown program in %q", after)
			}
			b.Commands = append(b.Commands, Command{Line: l.line + i})
			line = after
		}
		last := &b.Commands[len(b.Commands)-1]
		part, more := strings.CutSuffix(line, `\`)
		last.Text = strings.TrimSpace(last.Text + " " + strings.TrimSpace(part))
		continued = more
	}
	for i := range b.Commands {
		words, err := Words(b.Commands[i].Text)
		if err != nil {
			return err
		}
		b.Commands[i].Words = words
	}
	return nil
}

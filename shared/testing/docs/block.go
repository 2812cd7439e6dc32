package docs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Kind is what a block is.
type Kind string

// The kinds.
const (
	// Commands are typed by the reader; behind a prompt, what they answer follows.
	Commands Kind = "commands"
	// Config is YAML or JSON, whole or a part.
	Config Kind = "config"
	// Figure is what a program prints, a drawing or a piece of a program.
	Figure Kind = "figure"
)

// Block is one of a page's.
type Block struct {
	Line     int
	Kind     Kind
	Commands []Command
}

// Command is what a reader types on one line.
type Command struct {
	Line int
	Text string
	// Words are those of the line as a shell parts them; substitutions are not carried out.
	Words []string
}

// programs are the first words that make a line a command.
var programs = []string{"make", "helm", "kubectl", "export", "go", "docker", "git", "testbed", "holdfast-exec", "rendezvous", "sudo", "curl", "promtool"}

// shells are languages of blocks of commands.
var shells = []string{"bash", "console", "sh", "shell"}

const prompt = "$ "

func isCommand(line string) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	return slices.Contains(programs, word) || strings.HasPrefix(word, "./") || strings.HasPrefix(word, "hack/")
}

// figure marks a first line that nobody could take for a command: it has no word of small letters first, as tables, drawings and comments do, or it
// says several things with wide gaps, arrows or an assignment between them.
var figure = regexp.MustCompile(`^[^a-z]|\s{3,}|->| = |^(round|restart) \d|^admission webhook `)

// classify fails for a block that may be commands of a program that nobody listed.
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
		return b, fmt.Errorf("a block of %s: nobody knows whether it is commands", l.language)
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
		return b, fmt.Errorf("nobody knows what %q is: a command of a program that the list does not have?", first)
	}
	return b, nil
}

// isConfig: YAML that is a mapping. A drawing with colons is not indented as one.
func isConfig(text []string) bool {
	var mapping map[string]any
	return yaml.Unmarshal([]byte(strings.Join(text, "\n")), &mapping) == nil && len(mapping) > 0
}

// read takes each line, or each behind a prompt. Comments are left out and continued lines joined.
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
				return fmt.Errorf("nobody knows the program of %q", after)
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

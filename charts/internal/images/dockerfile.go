// Package images knows how the images of our programs are built: what the Dockerfile does, and for which programs the Makefile asks. Where
// there is no container engine it carries out the stage that builds, so that what stands there is known to work.
package images

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Stage is one of a Dockerfile's.
type Stage struct {
	// From is the base, with its flags.
	From string
	// Name is what later stages call it; it may be empty.
	Name string
	// Steps are in their order.
	Steps []Step
}

// Step is one instruction.
type Step struct {
	// Word is the instruction in capitals, such as RUN.
	Word string
	// Rest is all behind it, on one line.
	Rest string
}

// Parse reads a Dockerfile: comments, continued lines, instructions. Here-documents and the directives of parsers it does not know.
func Parse(text string) ([]Stage, error) {
	var stages []Stage
	for _, line := range logicalLines(text) {
		word, rest, _ := strings.Cut(line, " ")
		step := Step{strings.ToUpper(word), strings.TrimSpace(rest)}
		switch {
		case step.Word == "FROM":
			from, name, _ := strings.Cut(step.Rest, " AS ")
			stages = append(stages, Stage{From: from, Name: name})
		case len(stages) == 0:
			return nil, fmt.Errorf("%s stands before the first stage", step.Word)
		default:
			last := &stages[len(stages)-1]
			last.Steps = append(last.Steps, step)
		}
	}
	if len(stages) == 0 {
		return nil, fmt.Errorf("there is no stage")
	}
	return stages, nil
}

func logicalLines(text string) []string {
	var lines []string
	continued := false
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		part, more := strings.CutSuffix(line, `\`)
		if part = strings.TrimSpace(part); continued {
			lines[len(lines)-1] += " " + part
		} else {
			lines = append(lines, part)
		}
		continued = more
	}
	return lines
}

// All are the rests of the steps of one kind.
func (s Stage) All(word string) []string {
	var found []string
	for _, step := range s.Steps {
		if step.Word == word {
			found = append(found, step.Rest)
		}
	}
	return found
}

// Arguments are those that the stage declares, with their defaults.
func (s Stage) Arguments() map[string]string {
	found := map[string]string{}
	for _, declared := range s.All("ARG") {
		name, value, _ := strings.Cut(declared, "=")
		found[name] = value
	}
	return found
}

var reference = regexp.MustCompile(`\$\{(\w+)\}`)

// References are the arguments that the stage's steps name, each once.
func (s Stage) References() []string {
	var found []string
	for _, step := range s.Steps {
		for _, match := range reference.FindAllStringSubmatch(step.Rest, -1) {
			if !slices.Contains(found, match[1]) {
				found = append(found, match[1])
			}
		}
	}
	return found
}

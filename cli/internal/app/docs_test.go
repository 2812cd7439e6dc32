package app

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-project/holdfast/shared/testing/docs"
)

// try parses a command line from a page, up to a pipe, without running it.
func try(line string) error {
	words, err := docs.Words(line)
	if err != nil {
		return err
	}
	if pipe := slices.Index(words, "|"); pipe >= 0 {
		words = words[:pipe]
	}
	root := Command(Terminal{Out: io.Discard, Err: io.Discard})
	command, rest, err := root.Find(words[2:])
	if err != nil || len(words) == 2 { // only the name of the program
		return err
	}
	if err := command.ParseFlags(rest); err != nil {
		return err
	}
	return command.ValidateArgs(command.Flags().Args())
}

// The command accepts every command line on the documentation pages, with its flags and number of arguments.
func TestDocumentedCommandsAreValid(t *testing.T) {
	pages, err := docs.Pages("../../..")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, page := range pages {
		lines := page.Spans
		for _, command := range page.Commands() {
			lines = append(lines, command.Text)
		}
		for _, line := range lines {
			if !strings.HasPrefix(line, "kubectl holdfast") {
				continue
			}
			seen++
			if err := try(line); err != nil {
				t.Errorf("%s: %s: %v", page.Path, line, err)
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d commands found", seen)
	}
}

func TestInvalidCommandsAreRejected(t *testing.T) {
	for _, line := range []string{"kubectl holdfast frobnicate", "kubectl holdfast status", "kubectl holdfast status a b", "kubectl holdfast top --al", "kubectl holdfast why a --watch"} {
		if try(line) == nil {
			t.Errorf("%s was accepted", line)
		}
	}
}

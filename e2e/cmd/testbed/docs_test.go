package main

import (
	"testing"

	"github.com/holdfast-project/holdfast/shared/testing/docs"
)

func try(line string) error {
	words, err := docs.Words(line)
	if err != nil {
		return err
	}
	command, rest, err := root().Find(words[1:])
	if err != nil {
		return err
	}
	if err := command.ParseFlags(rest); err != nil {
		return err
	}
	return command.ValidateArgs(command.Flags().Args())
}

// The program accepts every command that the pages show after `testbed`.
func TestCommandsOfThePagesAreValid(t *testing.T) {
	pages, err := docs.Pages("../../..")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, page := range pages {
		for _, command := range page.Commands() {
			if command.Words[0] != "testbed" {
				continue
			}
			seen++
			if err := try(command.Text); err != nil {
				t.Errorf("%s: %s: %v", page.Path, command.Text, err)
			}
		}
	}
	if seen < 5 {
		t.Errorf("found %d commands", seen)
	}
	for _, wrong := range []string{"testbed frobnicate", "testbed simulate --nods 1", "testbed load"} {
		if try(wrong) == nil {
			t.Errorf("%s is accepted", wrong)
		}
	}
}

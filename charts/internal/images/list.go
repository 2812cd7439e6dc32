package images

import (
	"fmt"
	"regexp"
	"strings"
)

// Image is one that `make images` builds.
type Image struct {
	Name    string
	Module  string // folder
	Program string // package below it
	// Arguments of the Dockerfile that differ from its defaults.
	Arguments map[string]string
}

var list = regexp.MustCompile(`(?s)\ndefine IMAGES\n(.*?)\nendef\n`)

// List reads the Makefile's list. Variables of make in it stay as they are.
func List(makefile string) ([]Image, error) {
	found := list.FindStringSubmatch(makefile)
	if found == nil {
		return nil, fmt.Errorf("the Makefile has no list of images")
	}
	return ParseList(found[1])
}

// ParseList reads lines of a name, a module, a program and at most one argument.
func ParseList(text string) ([]Image, error) {
	var all []Image
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		words := strings.Fields(line)
		if len(words) < 3 || len(words) > 4 {
			return nil, fmt.Errorf("it is not of three words and an argument: %q", line)
		}
		image := Image{Name: words[0], Module: words[1], Program: words[2], Arguments: map[string]string{}}
		for _, argument := range words[3:] {
			name, value, _ := strings.Cut(argument, "=")
			image.Arguments[name] = value
		}
		all = append(all, image)
	}
	return all, nil
}

// Package docs reads the commands in the repository's documentation, for tests that check or run them. It returns an error for blocks of
// an unknown kind, so that no command is missed.
package docs

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Page is a documentation page in the repository.
type Page struct {
	// Path is the path relative to the root of the repository.
	Path   string
	Blocks []Block
	// Spans are commands in backquotes in the text.
	Spans []string
}

// Commands returns the commands in all blocks, in order.
func (p Page) Commands() []Command {
	var all []Command
	for _, b := range p.Blocks {
		all = append(all, b.Commands...)
	}
	return all
}

// printed is a page that is generated from the programs' help.
const printed = "docs/reference/flags.md"

// Pages returns all pages: those in the root folder, in docs/ and in its subfolders.
func Pages(root string) ([]Page, error) {
	found := map[string]Page{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("reading a page: %w", err)
			}
			path, err := filepath.Rel(root, file)
			if err != nil {
				return nil, err
			}
			if path == printed {
				continue
			}
			page, err := Parse(path, string(content))
			if err != nil {
				return nil, err
			}
			found[path] = page
		}
	}
	var pages []Page
	for _, path := range slices.Sorted(maps.Keys(found)) {
		pages = append(pages, found[path])
	}
	return pages, nil
}

var span = regexp.MustCompile("`([^`\n]+)`")

// Parse parses a page.
func Parse(path, text string) (Page, error) {
	page := Page{Path: path}
	prose, raw := split(text)
	for _, r := range raw {
		block, err := r.classify()
		if err != nil {
			return Page{}, fmt.Errorf("%s, line %d: %w", path, r.line, err)
		}
		page.Blocks = append(page.Blocks, block)
	}
	for _, match := range span.FindAllStringSubmatch(prose, -1) {
		if isCommand(match[1]) {
			page.Spans = append(page.Spans, match[1])
		}
	}
	return page, nil
}

// lines are the raw lines of a block.
type lines struct {
	line     int // number of the first line, from 1
	language string
	fenced   bool
	text     []string
}

// split separates the prose on a page from its blocks, which are either fenced or indented by at least four spaces after an empty
// line.
func split(text string) (prose string, blocks []lines) {
	var b strings.Builder
	var open *lines
	blank := true
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case open != nil && open.fenced && strings.HasPrefix(trimmed, "```"):
			blocks, open = append(blocks, *open), nil
		case open != nil && open.fenced:
			open.text = append(open.text, line)
		case strings.HasPrefix(trimmed, "```"):
			open = &lines{line: i + 1, language: strings.TrimPrefix(trimmed, "```"), fenced: true}
		case strings.HasPrefix(line, "    ") && (open != nil || blank):
			if open == nil {
				open = &lines{line: i + 1}
			}
			open.text = append(open.text, line)
		case open != nil:
			blocks, open = append(blocks, *open), nil
			fallthrough
		default:
			b.WriteString(line + "\n")
		}
		blank = trimmed == ""
	}
	if open != nil {
		blocks = append(blocks, *open)
	}
	return b.String(), blocks
}

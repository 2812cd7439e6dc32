// Package docs reads the commands on the pages of the repository, for tests that check or run them. A block that is neither commands nor
// another known kind is an error, so no command is missed.
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

// Page is a page of the repository.
type Page struct {
	// Path is relative to the root of the repository.
	Path   string
	Blocks []Block
	// Spans are commands in backquotes within the text.
	Spans []string
}

// Commands returns the commands of all blocks in order.
func (p Page) Commands() []Command {
	var all []Command
	for _, b := range p.Blocks {
		all = append(all, b.Commands...)
	}
	return all
}

// printed is generated from the programs' help.
const printed = "docs/reference/flags.md"

// Pages returns all pages: README.md, those of docs/ and of its folders.
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

// Parse parses one page.
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
	line     int // of the first line, from 1
	language string
	fenced   bool
	text     []string
}

// split separates the prose of a page from its blocks: fenced ones, and those indented by four or more spaces after an empty line.
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

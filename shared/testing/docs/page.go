// Package docs reads what the pages of the repository tell a reader to type, for tests that check it, or type it. A block that is neither
// commands nor something else that is known for what it is cannot be read: so no command hides in one.
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

// Page is one of the repository's.
type Page struct {
	// Path is from the root of the repository.
	Path   string
	Blocks []Block
	// Spans are commands within the text, in backquotes.
	Spans []string
}

// Commands are those of all of its blocks, in their order.
func (p Page) Commands() []Command {
	var all []Command
	for _, b := range p.Blocks {
		all = append(all, b.Commands...)
	}
	return all
}

// printed is what programs say of themselves: nobody types it.
const printed = "docs/reference/flags.md"

// Pages are all pages: README.md, those of docs/ and of the folders in it.
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

// Parse reads one page.
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

// lines of a block, as they stand.
type lines struct {
	line     int // of its beginning, from 1
	language string
	fenced   bool
	text     []string
}

// split parts a page into its prose and its blocks: fenced ones, and those that are indented by four or more behind an empty line.
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

package docs

import (
	"fmt"
	"strings"
)

// Words splits a line like a shell: at blanks outside of quotes and substitutions, up to a comment. It removes quotes.
func Words(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune
	depth, open := 0, false
	for _, r := range line + " " {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case depth == 0 && (r == '\'' || r == '"'):
			quote, open = r, true
		case depth == 0 && r == '#' && !open:
			return words, nil
		case depth == 0 && (r == ' ' || r == '\t'):
			if open {
				words = append(words, word.String())
				word.Reset()
				open = false
			}
		default:
			if r == '(' && strings.HasSuffix(word.String(), "$") || r == '(' && depth > 0 {
				depth++
			} else if r == ')' && depth > 0 {
				depth--
			}
			word.WriteRune(r)
			open = true
		}
	}
	if quote != 0 || depth != 0 {
		return nil, fmt.Errorf("%q has an unclosed quote or substitution", line)
	}
	return words, nil
}

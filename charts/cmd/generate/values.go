package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// writeValues lists the values of every chart with their comments.
func writeValues() error {
	p := newPage("Values of the charts", "A value that is not listed here is refused, by the chart's schema. Objects of Kubernetes (`{}`, `[]`) are taken as they are.")
	for _, chart := range charts {
		raw, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
		if err != nil {
			return err
		}
		var document yaml.Node
		if err := yaml.Unmarshal(raw, &document); err != nil {
			return fmt.Errorf("values of %s: %w", chart, err)
		}
		p.printf("\n## %s\n", chart)
		p.table("value", "default", "what")
		p.values("", document.Content[0], "")
	}
	return p.write("values.md")
}

// values adds a row for each leaf; what is said about a group stands at its first leaf.
func (p *page) values(prefix string, mapping *yaml.Node, about string) {
	for i := 0; i < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		comment := strings.TrimSpace(about + " " + said(key, value))
		about = ""
		if value.Kind == yaml.MappingNode && len(value.Content) > 0 && value.Style&yaml.FlowStyle == 0 {
			p.values(prefix+key.Value+".", value, comment)
			continue
		}
		p.row(code(prefix+key.Value), code(inline(value)), comment)
	}
}

// said is what a comment above a key or behind a value says of it.
func said(key, value *yaml.Node) string {
	var words []string
	for _, comment := range []string{key.HeadComment, value.LineComment, key.LineComment} {
		if at := strings.LastIndex(comment, "\n\n"); at >= 0 { // what stands apart is about the file
			comment = comment[at:]
		}
		for _, line := range strings.Split(comment, "\n") {
			words = append(words, strings.TrimPrefix(strings.TrimSpace(strings.TrimPrefix(line, "#")), "-- "))
		}
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

func inline(value *yaml.Node) string {
	if value.Kind == yaml.ScalarNode {
		if value.Value == "" && value.Tag == "!!str" {
			return `""`
		}
		return value.Value
	}
	bare := *value
	bare.Style |= yaml.FlowStyle
	out, err := yaml.Marshal(&bare)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

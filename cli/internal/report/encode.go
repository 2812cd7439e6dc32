package report

import (
	"encoding/json"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// Encode writes a value as JSON or YAML, with the same keys.
func Encode(out io.Writer, format string, value any) error {
	content, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	if format == "yaml" {
		if content, err = yaml.JSONToYAML(content); err != nil {
			return fmt.Errorf("encoding: %w", err)
		}
		_, err = out.Write(content)
		return err
	}
	_, err = fmt.Fprintln(out, string(content))
	return err
}

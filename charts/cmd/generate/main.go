// Command generate writes the generated files of the charts (dashboards and alerts) and the reference page of the metrics. It takes no
// arguments and runs in the folder of this module.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	for _, write := range []func() error{writeBoards, writeAlerts, writeMetrics} {
		if err := write(); err != nil {
			fmt.Fprintln(os.Stderr, "generate:", err)
			os.Exit(1)
		}
	}
}

func writeFile(content []byte, path ...string) error {
	file := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o644)
}

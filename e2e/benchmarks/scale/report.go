package main

import (
	"os"
	"path/filepath"

	"github.com/holdfast-project/holdfast/e2e/benchmarks/scale/results"
)

// writePage generates the page and its plots from all results.
func writePage(root string, o options) error {
	all, err := results.Load(filepath.Join(root, o.results))
	if err != nil || len(all) == 0 {
		return err
	}
	page := filepath.Join(root, o.page)
	plots := page[:len(page)-len(filepath.Ext(page))]
	if err := os.MkdirAll(plots, 0o755); err != nil {
		return err
	}
	text, figures := results.Page(all, filepath.Base(plots), models())
	for name, svg := range figures {
		if err := os.WriteFile(filepath.Join(plots, name), []byte(svg), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(page, []byte(text), 0o644)
}

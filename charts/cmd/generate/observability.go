package main

import (
	"github.com/holdfast-project/holdfast/charts/internal/alerts"
	"github.com/holdfast-project/holdfast/charts/internal/boards"
)

// writeBoards writes the boards into the library, from which every chart has them.
func writeBoards() error {
	for _, board := range boards.All() {
		content, err := board.JSON()
		if err != nil {
			return err
		}
		if err := writeFile(content, "library", "files", "dashboards", board.File); err != nil {
			return err
		}
	}
	return nil
}

func writeAlerts() error {
	for _, set := range alerts.All() {
		content, err := set.YAML()
		if err != nil {
			return err
		}
		if err := writeFile(content, set.Chart, "files", "rules", "alerts.yaml"); err != nil {
			return err
		}
	}
	return nil
}

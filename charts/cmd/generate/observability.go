package main

import (
	"github.com/holdfast-project/holdfast/charts/internal/alerts"
	"github.com/holdfast-project/holdfast/charts/internal/boards"
)

// writeBoards writes the dashboards into the library chart, which all charts include.
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
